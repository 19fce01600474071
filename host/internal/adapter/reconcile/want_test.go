// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
)

// runsPlugin is an adapter's wish for a plugin.
func runsPlugin(name, plugin string, config map[string]any) Adapter {
	return Adapter{Name: name, Plugin: plugin, Prefix: name + "_", Config: config, Limits: limits}
}

func TestAnotherWishTouchesOnlyWhatItChanges(t *testing.T) {
	dir := directory(t)
	drop(t, dir, "sql", "1")
	same, changed, removed, added := runsPlugin("same", "sql", map[string]any{"n": "1"}),
		runsPlugin("changed", "sql", map[string]any{"n": "1"}), runsPlugin("removed", "sql", nil), runsPlugin("added", "sql", nil)
	f := newFixture([]Adapter{same, changed, removed}, dir)
	f.config.Dirs[0].DropIn = false
	dirs := f.config.Dirs
	f.runs(t)
	until(t, "all are ready", func() bool {
		return f.state("same") == adapter.Ready && f.state("changed") == adapter.Ready && f.state("removed") == adapter.Ready
	})
	changed.Config = map[string]any{"n": "2"}
	f.Want(Wish{Adapters: []Adapter{same, changed, added}, Dirs: dirs}, nil)
	until(t, "what is wished is ready, and nothing else is there", func() bool {
		return f.state("added") == adapter.Ready && f.state("removed") == "" &&
			len(f.launcher.of("changed")) == 2 && f.launcher.of("changed")[0].over()
	})
	until(t, "nothing is behind", func() bool { return !f.AnyBehind() && !f.Behind("changed") && !f.Behind("removed") })
	if n := len(f.launcher.of("same")); n != 1 || f.launcher.of("same")[0].over() {
		t.Errorf("what is the same was started %d times", n)
	}
	if !f.launcher.of("removed")[0].over() || f.launcher.of("changed")[1].over() {
		t.Error("the wrong one was drained")
	}
}

func TestTheSameWishAgainStartsNothing(t *testing.T) {
	dir := directory(t)
	drop(t, dir, "sql", "1")
	f := newFixture([]Adapter{runsPlugin("orders", "sql", map[string]any{"n": "1"})}, dir)
	dirs := f.config.Dirs
	f.runs(t)
	until(t, "it is ready", func() bool { return f.state("orders") == adapter.Ready })
	for range 3 {
		f.Want(Wish{Adapters: []Adapter{runsPlugin("orders", "sql", map[string]any{"n": "1"})}, Dirs: dirs}, nil)
	}
	drop(t, dir, "other", "1") // whatever comes after it comes after those
	until(t, "the drop-in is ready", func() bool { return f.state("other") == adapter.Ready })
	if n := len(f.launcher.of("orders")); n != 1 {
		t.Errorf("it was started %d times", n)
	}
}

func TestOtherDirectoriesAreLookedIntoFromNowOn(t *testing.T) {
	first, second := directory(t), directory(t)
	drop(t, first, "echo", "1")
	drop(t, second, "shop", "1")
	f := newFixture(nil, first)
	f.runs(t)
	until(t, "the first directory's is ready", func() bool { return f.state("echo") == adapter.Ready })
	f.Want(Wish{Dirs: []catalog.Directory{{Path: second, DropIn: true}}}, nil)
	until(t, "the second's is, and the first's is gone", func() bool {
		return f.state("shop") == adapter.Ready && f.state("echo") == ""
	})
	drop(t, second, "late", "1")
	until(t, "the second is followed", func() bool { return f.state("late") == adapter.Ready })
	remove(t, second, "late")
	until(t, "the second is followed", func() bool { return f.state("late") == "" })
}

// ear hears what the redactor would.
type ear struct {
	mu    sync.Mutex
	heard map[string][]string
}

func (e *ear) tell(adapter string, secrets []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.heard == nil {
		e.heard = map[string][]string{}
	}
	e.heard[adapter] = secrets
}

func (e *ear) of(adapter string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(slices.Values(e.heard[adapter]))
}

func TestAChangedSecretRestartsItsAdapterOnlyAndTheOldOneStaysASecret(t *testing.T) {
	keyed := runsPlugin("keyed", "sql", map[string]any{"key": "${KEY}"})
	plain := runsPlugin("plain", "sql", nil)
	applied(t, []Adapter{keyed, plain}, func(t *testing.T, f *fixture) {
		var e ear
		f.config.Tell = e.tell
		f.secrets.set("KEY", "first")
		f.sees(contents("sql"))
		f.secrets.set("KEY", "second")
		f.sees(contents("sql"))
		if k, p := len(f.launcher.of("keyed")), len(f.launcher.of("plain")); k != 2 || p != 1 {
			t.Errorf("started %d and %d times", k, p)
		}
		if diff := cmp.Diff([]string{"first", "second"}, e.of("keyed")); diff != "" {
			t.Error(diff)
		}
		f.config.Adapters = []Adapter{plain}
		f.sees(contents("sql"))
		if heard := e.of("keyed"); len(heard) != 0 {
			t.Errorf("of an adapter that is gone: %v", heard)
		}
	})
}

func TestSecretsOfEarlierConfigurationsAreBounded(t *testing.T) {
	applied(t, []Adapter{runsPlugin("keyed", "sql", map[string]any{"key": "${KEY}"})}, func(t *testing.T, f *fixture) {
		var e ear
		f.config.Tell = e.tell
		for i := range maxSecrets + 10 {
			f.secrets.set("KEY", fmt.Sprint(i))
			f.sees(contents("sql"))
		}
		heard := e.of("keyed")
		if len(heard) != maxSecrets || slices.Contains(heard, "0") || !slices.Contains(heard, fmt.Sprint(maxSecrets+9)) {
			t.Errorf("%d: %v", len(heard), heard)
		}
	})
}

func TestAnAdapterIsBehindFromTheWishUntilItServesIt(t *testing.T) {
	dir := directory(t)
	drop(t, dir, "sql", "1")
	orders, stock := runsPlugin("orders", "sql", nil), runsPlugin("stock", "sql", nil)
	f := newFixture([]Adapter{orders, stock}, dir)
	f.config.Dirs[0].DropIn = false
	dirs := f.config.Dirs
	f.runs(t)
	until(t, "both are ready", func() bool { return f.state("orders") == adapter.Ready && f.state("stock") == adapter.Ready })
	hold := make(chan struct{})
	f.launcher.mu.Lock()
	f.launcher.starting = hold
	f.launcher.mu.Unlock()
	orders.Prefix = "other_"
	f.Want(Wish{Adapters: []Adapter{orders, stock}, Dirs: dirs}, nil)
	if !f.Behind("orders") {
		t.Error("not behind though the wish is out")
	}
	until(t, "the other one is not", func() bool { return !f.Behind("stock") })
	if !f.Behind("orders") || !f.AnyBehind() {
		t.Error("not behind though the old one serves")
	}
	close(hold)
	until(t, "it is not behind any more", func() bool { return !f.Behind("orders") && !f.AnyBehind() })
	if _, ok := f.registry.Snapshot().Find("other_get"); !ok {
		t.Error("not behind, and not served")
	}
}

func TestWhatChangesAlongWithAWishIsNotSeenBeforeIt(t *testing.T) {
	r := New(Config{Log: hclog.NewNullLogger()})
	behind := make(chan bool, 1)
	r.Want(Wish{}, func() {
		asked := make(chan struct{})
		go func() { // a call that is judged by the new rules already
			close(asked)
			behind <- r.Behind("orders")
		}()
		<-asked
	})
	if !<-behind {
		t.Error("an adapter of the configuration before was taken for one of the new")
	}
}
