// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is how long something may take that a busy machine does late.
const bound = 30 * time.Second

// launcher starts instances that are not there but in a test.
type launcher struct {
	mu      sync.Mutex
	started map[string][]*instance // by adapter
	// If set, what a start and a drain wait for.
	starting, draining chan struct{}
}

func (f *launcher) Start(ctx context.Context, d *adapter.Desired) (adapter.Instance, error) {
	f.mu.Lock()
	hold, draining := f.starting, f.draining
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, &adapter.StartError{Phase: adapter.PhaseHandshake, Reason: "no handshake in time"}
		}
	}
	in := &instance{desired: d, done: make(chan struct{}), draining: draining}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started == nil {
		f.started = map[string][]*instance{}
	}
	f.started[d.Name] = append(f.started[d.Name], in)
	return in, nil
}

// of returns the instances of an adapter that were ever started.
func (f *launcher) of(name string) []*instance {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.started[name])
}

// instance offers one tool, get.
type instance struct {
	desired  *adapter.Desired
	done     chan struct{}
	draining chan struct{}
	once     sync.Once
}

func (*instance) Heed(context.Context, []string) {}

func (i *instance) Run(context.Context, *tool.Attempt) (tool.Outcome, error) {
	return &tool.Result{}, nil
}

func (i *instance) Catalogs(ctx context.Context) iter.Seq2[adapter.Catalog, error] {
	return func(yield func(adapter.Catalog, error) bool) {
		if !yield(adapter.Catalog{Tools: []tool.Spec{{Declared: "get"}}}, nil) {
			return
		}
		select {
		case <-ctx.Done():
		case <-i.done:
		}
	}
}

func (i *instance) Health(context.Context) error { return nil }

func (i *instance) Drain(context.Context) error {
	if i.draining != nil {
		<-i.draining
	}
	i.once.Do(func() { close(i.done) })
	return nil
}

func (i *instance) Done() <-chan struct{} { return i.done }
func (i *instance) Ended() error          { return errors.New("exit status 0") }
func (i *instance) About() adapter.About  { return adapter.About{Version: "1", PID: 1} }

func (i *instance) over() bool {
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}

// variables is a source of secrets.
type variables struct {
	mu   sync.Mutex
	vars map[string]string
}

func (s *variables) Env(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.vars[name]
	return v, ok
}

func (s *variables) File(string) ([]byte, error) { return nil, fs.ErrNotExist }

func (s *variables) set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vars == nil {
		s.vars = map[string]string{}
	}
	s.vars[name] = value
}

var limits = adapter.Limits{Timeout: time.Second, MaxInFlight: 2, Restarts: 1, StartTimeout: bound}

// fixture is a reconciler over fakes.
type fixture struct {
	*Reconciler

	launcher *launcher
	secrets  *variables
	registry *registry.Registry
}

func newFixture(adapters []Adapter, dirs ...string) *fixture {
	f := &fixture{launcher: &launcher{}, secrets: &variables{}, registry: registry.New()}
	c := Config{
		Wish: Wish{Adapters: adapters}, Dir: "/d", DropIn: limits, Secrets: f.secrets, Launcher: f.launcher,
		Registry: f.registry, Log: hclog.NewNullLogger(),
	}
	for _, d := range dirs {
		c.Dirs = append(c.Dirs, catalog.Directory{Path: d, DropIn: true})
	}
	f.Reconciler = New(c)
	return f
}

// contents of directories, all of them drop-ins.
func contents(plugins ...string) *catalog.Contents {
	c := &catalog.Contents{}
	slices.Sort(plugins)
	for _, p := range plugins {
		c.Plugins = append(c.Plugins, catalog.Plugin{Name: p, Path: "/p/" + p, Stamp: "1", DropIn: true})
	}
	return c
}

// The rest is for reconcilers that run over real directories.

// directory is a fresh directory that only its owner can write.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// drop puts an executable into a directory, or another one in its place, as
// package managers do.
func drop(t *testing.T, dir, name, content string) {
	t.Helper()
	fresh := filepath.Join(dir, "."+name)
	if err := os.WriteFile(fresh, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// runs the reconciler until the end of the test, and expects that nothing
// runs any more after it.
func (f *fixture) runs(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(bound):
			t.Error("it does not end")
		}
		f.launcher.mu.Lock()
		defer f.launcher.mu.Unlock()
		for name, all := range f.launcher.started {
			for i, in := range all {
				if !in.over() {
					t.Errorf("instance %d of %s lives on", i+1, name)
				}
			}
		}
	})
	t.Cleanup(stop)
	return stop
}

// state of an adapter, "" if there is none.
func (f *fixture) state(name string) adapter.State { return f.status(name).State }

func (f *fixture) status(name string) adapter.Status {
	for _, s := range f.Status() {
		if s.Name == name {
			return s
		}
	}
	return adapter.Status{}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(bound); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("it does not come to: %s", what)
		}
	}
}
