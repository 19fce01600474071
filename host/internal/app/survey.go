// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	"github.com/toolwharf/toolwharf/host/internal/adapter/reconcile"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/kept"
	"github.com/toolwharf/toolwharf/host/internal/pin"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/secret"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Problem is an adapter whose tools could not be seen.
type Problem struct {
	Adapter string `json:"adapter"`
	State   string `json:"state"`
	Cause   string `json:"cause"`
}

// survey starts the adapters whose plugins a lock names for the moment, exactly
// as it names them, and returns what their tools say of themselves. Nobody can
// call them. A plugin that was dropped in and needs configuration is no adapter
// yet, and so no problem.
func survey(ctx context.Context, c *config.Config, lock *pin.Lock, log hclog.Logger) (tools map[string]pin.Tools, problems map[string]Problem, err error) {
	runDir, err := makeRunDir()
	if err != nil {
		return nil, nil, fmt.Errorf("directory for sockets: %w", err)
	}
	defer func() { _ = runDir.remove() }()
	seen := &witness{tools: map[string]pin.Tools{}}
	r := reconcile.New(reconcile.Config{
		Wish: reconcile.Wish{Adapters: adapters(c), Dirs: directories(c)}, Dir: c.Dir, DropIn: dropInLimits,
		Secrets: secret.System{Dir: c.Dir},
		Launcher: &plugin.Launcher{
			RunDir: runDir.path, MaxResult: int64(kept.Default.Each), Shelf: &pin.Shelf{Dir: runDir.path}, Log: log,
			Cgroups: cgroups(false), Confinement: confine(c, runDir.path, "", []byte(runDir.path)),
			Own: func() []netip.AddrPort { return listensOn(c.HTTP.Listen) },
		},
		Registry: registry.New(), Pins: pin.Fixed(lock), Specs: seen, Key: []byte(runDir.path), Log: log,
	})
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- r.Run(running) }()
	err = r.AwaitTried(ctx)
	problems = map[string]Problem{}
	for _, s := range r.Status() {
		if s.State != adapter.Ready && (s.State != adapter.Waiting || configured(c, s.Name)) {
			problems[s.Name] = Problem{s.Name, string(s.State), s.Cause}
		}
	}
	stop()
	if ended := <-stopped; err == nil {
		err = ended
	}
	return seen.all(), problems, err
}

// witness lets every tool pass and remembers it.
type witness struct {
	mu    sync.Mutex
	tools map[string]pin.Tools
}

// Review remembers.
func (w *witness) Review(adapter string, tools []tool.Spec) (fit []tool.Spec, notes []string, err error) {
	said := pin.Tools{}
	for _, spec := range tools {
		said.Add(spec)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tools[adapter] = said
	return tools, nil, nil
}

func (w *witness) all() map[string]pin.Tools {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.tools)
}

// lockOf reads the lock of a configuration; nil if there is none.
func lockOf(c *config.Config) (*pin.Lock, error) {
	l, err := pin.Read(LockPath(c))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none is no fault
	}
	return l, err
}
