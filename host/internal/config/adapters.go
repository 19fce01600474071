// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/webhook"
)

// maxDuration bounds every duration: beyond a year it is a slip of the pen.
const maxDuration = 365 * 24 * time.Hour

func (c checker) adapters() {
	for _, a := range c.cfg.Adapters {
		at := func(keys ...string) []string { return append([]string{"adapters", a.Name}, keys...) }
		if c.has(at("limits", "timeout")...) && (a.Limits.Timeout <= 0 || a.Limits.Timeout > maxDuration) {
			c.refuse(at("limits", "timeout"), "", "must be more than 0s and at most a year")
		}
		if c.has(at("limits", "memory")...) && a.Limits.Memory < 16<<20 {
			c.refuse(at("limits", "memory"), "", "must be at least 16MiB")
		}
		for key, globs := range map[string][]string{"include": a.Include, "exclude": a.Exclude} {
			c.globs(at(key), globs)
		}
		for _, name := range slices.Sorted(maps.Keys(a.Env)) {
			if steers(name) {
				c.refuse(at("env", name), "remove it", "would change how the plugin is loaded or found by the host")
			}
		}
	}
}

// globs refuses what is no glob.
func (c checker) globs(location, globs []string) {
	for i, glob := range globs {
		if rules.CheckGlob(glob) != nil {
			c.refuse(append(slices.Clone(location), itoa(i)), "", "has %q, which is no glob and would match nothing", glob)
		}
	}
}

// steers reports whether a variable changes what code a process runs, or
// belongs to the handshake between host and plugin.
func steers(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "PYTHON", "PLUGIN_", "TOOLWHARF_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS":
		return true
	default:
		return false
	}
}

func (c checker) servers() {
	for _, s := range c.cfg.Servers {
		at := func(keys ...string) []string { return append([]string{"mcpServers", s.Name}, keys...) }
		if slices.ContainsFunc(c.cfg.Adapters, func(a Adapter) bool { return a.Name == s.Name }) {
			c.refuse(at(), "rename one of them", "has the name of an adapter")
		}
		switch command, url := c.has(at("command")...), c.has(at("url")...); {
		case command && url:
			c.refuse(at(), "keep one of them", "has both a command and a url")
		case !command && !url:
			c.refuse(at(), "say how the server is started or reached", "has neither a command nor a url")
		}
		if c.has(at("timeout")...) && (s.Timeout <= 0 || s.Timeout > maxDuration) {
			c.refuse(at("timeout"), "", "must be more than 0s and at most a year")
		}
	}
}

// approval: an approval that cannot be given in time is a slip of the pen.
func (c checker) approval() {
	a := c.cfg.Approval
	if c.has("approval", "expires") && (a.Expires < time.Second || a.Expires > maxDuration) {
		c.refuse([]string{"approval", "expires"}, "", "must be at least 1s and at most a year")
	}
	if c.has("approval", "wait") && (a.Wait < 0 || a.Wait > a.Expires) {
		c.refuse([]string{"approval", "wait"}, "", "must not be longer than approval.expires")
	}
	if a.Approvers != "" {
		if _, err := rules.NewWhen(a.Approvers); err != nil {
			c.refuse([]string{"approval", "approvers"}, "", "%v", err)
		}
	}
	c.webhooks()
}

// webhooks refuses receivers that could not be told, or that are one. What
// references stand for is known when a host starts.
func (c checker) webhooks() {
	first := map[string]int{}
	for i, w := range c.cfg.Approval.Webhooks {
		at := func(key string) []string { return []string{"approval", "webhooks", itoa(i), key} }
		if err := webhook.CheckURL(w.URL); err != nil && !strings.Contains(w.URL, "${") {
			c.refuse(at("url"), "", "%v", err)
		}
		if _, err := webhook.ParseSecret(w.Secret); err != nil && !strings.Contains(w.Secret, "${") {
			c.refuse(at("secret"), "make one with `echo whsec_$(openssl rand -base64 32)`", "%v", err)
		}
		if before, taken := first[w.URL]; taken {
			c.refuse(at("url"), "list its events in one entry", "repeats that of item %d", before)
			continue
		}
		first[w.URL] = i
	}
}

// hooks: one that has no time to judge would refuse everything.
func (c checker) hooks() {
	for i, h := range c.cfg.Hooks {
		at := func(key string) []string { return []string{"hooks", itoa(i), key} }
		if c.has(at("timeout")...) && (h.Timeout <= 0 || h.Timeout > time.Minute) {
			c.refuse(at("timeout"), "", "must be more than 0s and at most a minute")
		}
		c.globs(at("tools"), h.Tools)
	}
}

func (c checker) rules() {
	for i, r := range c.cfg.Rules {
		at := func(key string) []string { return []string{"rules", itoa(i), key} }
		verbs := 0
		for _, verb := range []struct {
			key   string
			globs []string
		}{{"allow", r.Allow}, {"confirm", r.Confirm}, {"deny", r.Deny}} {
			if verb.globs != nil {
				verbs++
			}
			c.globs(at(verb.key), verb.globs)
		}
		if verbs != 1 {
			c.refuse([]string{"rules", itoa(i)}, "", "must have exactly one of allow, confirm and deny, has %d", verbs)
		}
		if r.When != "" {
			if _, err := rules.NewWhen(r.When); err != nil {
				c.refuse(at("when"), "", "%v", err)
			}
		}
	}
}
