// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/adapter/reconcile"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// startTimeout is how long a plugin may take from its launch to its first
// catalogue.
const startTimeout = 10 * time.Second

// dropInLimits are those of a plugin that nobody has configured.
var dropInLimits = adapter.Limits{
	Timeout: 30 * time.Second, MaxInFlight: 16, Restarts: 5, StartTimeout: startTimeout,
}

// adapters are the configured ones, in the reconciler's words.
func adapters(c *config.Config) []reconcile.Adapter {
	out := make([]reconcile.Adapter, 0, len(c.Adapters))
	for _, a := range c.Adapters {
		out = append(out, reconcile.Adapter{
			Name: a.Name, Plugin: a.Plugin, Prefix: a.Prefix, Config: a.Config, Env: a.Env,
			MayAsk: a.MayAsk == nil || *a.MayAsk, AllowURLs: a.AllowURLs, PassPrincipal: a.PassPrincipal,
			Limits: adapter.Limits{
				Timeout: a.Limits.Timeout, MaxInFlight: a.Limits.MaxInFlight, Restarts: a.Limits.Restarts,
				Memory: a.Limits.Memory, StartTimeout: startTimeout,
			},
			Sandbox: confinement(a), Terms: terms(a),
			Locate: func(pointer string) string { return a.At(pointer).String() },
		})
	}
	return out
}

// terms are what the configuration says of an adapter's tools.
func terms(a config.Adapter) adapter.Terms {
	t := adapter.Terms{Include: a.Include, Exclude: a.Exclude, Tools: make(map[string]adapter.Override, len(a.Tools))}
	for name, p := range a.Tools {
		t.Tools[name] = adapter.Override{Effects: tool.Effects(p.Effects), Idempotent: p.Idempotent, Confirm: p.Confirm, Tags: p.Tags}
	}
	return t
}

// confinement is how the configuration has an adapter confined.
func confinement(a config.Adapter) adapter.Sandbox {
	s := adapter.Sandbox{Off: a.Sandbox == "off", Strict: a.Sandbox == "strict", Private: a.Allow.Private}
	for kind, values := range map[adapter.GrantKind][]string{
		adapter.GrantRead: a.Allow.Read, adapter.GrantWrite: a.Allow.Write, adapter.GrantConnect: a.Allow.Connect,
	} {
		for _, v := range values {
			s.Allow = append(s.Allow, adapter.Grant{Kind: kind, Value: v})
		}
	}
	slices.SortFunc(s.Allow, func(a, b adapter.Grant) int { // the same each time
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value))
	})
	return s
}

// directories are where plugins are looked for: beside the host's executable
// first, so that nothing that is dropped in can take a built-in's name.
func directories(c *config.Config) []catalog.Directory {
	var dirs []catalog.Directory
	if c.Plugins.Builtin {
		if self, err := os.Executable(); err == nil {
			if real, err := filepath.EvalSymlinks(self); err == nil {
				self = real
			}
			dirs = append(dirs, catalog.Directory{Path: filepath.Join(filepath.Dir(self), "plugins")})
		}
	}
	for _, d := range c.Plugins.Dirs {
		dirs = append(dirs, catalog.Directory{Path: d, DropIn: true})
	}
	return dirs
}
