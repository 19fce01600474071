// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
)

// applied runs a test of what comes of contents, in a bubble and without
// directories.
func applied(t *testing.T, adapters []Adapter, test func(*testing.T, *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(adapters, "/p")
		test(t, f)
		if err := f.stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func (f *fixture) sees(c *catalog.Contents) (waitsForSecret bool) {
	defer synctest.Wait()
	return f.apply(c)
}

func (f *fixture) states() map[string]adapter.State {
	out := map[string]adapter.State{}
	for _, s := range f.Status() {
		out[s.Name] = s.State
	}
	return out
}

func expectStates(t *testing.T, f *fixture, want map[string]adapter.State) {
	t.Helper()
	if diff := cmp.Diff(want, f.states()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestADropInComesAndGoesWithItsFile(t *testing.T) {
	applied(t, nil, func(t *testing.T, f *fixture) {
		f.sees(contents())
		expectStates(t, f, map[string]adapter.State{})
		f.sees(contents("echo", "shop"))
		expectStates(t, f, map[string]adapter.State{"echo": adapter.Ready, "shop": adapter.Ready})
		f.sees(contents("shop"))
		expectStates(t, f, map[string]adapter.State{"shop": adapter.Ready})
		if !f.launcher.of("echo")[0].over() || f.launcher.of("shop")[0].over() {
			t.Error("the wrong one was drained")
		}
		if _, ok := f.registry.Snapshot().Find("echo_get"); ok {
			t.Error("its tool is still offered")
		}
		f.sees(contents("echo", "shop"))
		expectStates(t, f, map[string]adapter.State{"echo": adapter.Ready, "shop": adapter.Ready})
	})
}

func TestADropInThatReappearsWhileItIsDrainedBeginsAnewAfterwards(t *testing.T) {
	applied(t, nil, func(t *testing.T, f *fixture) {
		f.launcher.draining = make(chan struct{})
		f.sees(contents("echo"))
		f.sees(contents())
		c := contents("echo")
		f.sees(c)
		if n := len(f.launcher.of("echo")); n != 1 {
			t.Fatalf("%d instances while the first is drained", n)
		}
		close(f.launcher.draining)
		<-f.kick // as Run does it
		f.sees(c)
		expectStates(t, f, map[string]adapter.State{"echo": adapter.Ready})
		if n := len(f.launcher.of("echo")); n != 2 {
			t.Errorf("%d instances", n)
		}
	})
}

func TestANamedAdapterWaitsForItsPluginAndStaysWhenThatGoes(t *testing.T) {
	orders := []Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: map[string]any{}, Limits: limits}}
	applied(t, orders, func(t *testing.T, f *fixture) {
		for range 2 {
			f.sees(contents())
			if s := f.status("orders"); s.State != adapter.Waiting || s.Cause != "there is no plugin sql in /p" || s.Plugin != "sql" || !s.Tried {
				t.Fatalf("%+v", s)
			}
			f.sees(contents("sql"))
			if s := f.status("orders"); s.State != adapter.Ready || s.Cause != "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func TestAChangedFileIsSwapped(t *testing.T) {
	applied(t, nil, func(t *testing.T, f *fixture) {
		f.sees(contents("echo"))
		c := contents("echo")
		f.sees(c) // the same changes nothing
		if n := len(f.launcher.of("echo")); n != 1 {
			t.Fatalf("%d instances", n)
		}
		c.Plugins[0].Stamp = "2"
		f.sees(c)
		all := f.launcher.of("echo")
		if len(all) != 2 || !all[0].over() || all[1].over() {
			t.Errorf("%d instances", len(all))
		}
	})
}

func TestAnAdapterWaitsForItsSecretAndIsLookedAtAgain(t *testing.T) {
	orders := []Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: map[string]any{"dsn": "${DSN}"}, Limits: limits}}
	applied(t, orders, func(t *testing.T, f *fixture) {
		if !f.sees(contents("sql")) {
			t.Error("nobody looks for the secret again")
		}
		if s := f.status("orders"); s.State != adapter.Waiting || s.Cause != "secret missing: ${DSN} is not set" {
			t.Errorf("%+v", s)
		}
		f.secrets.set("DSN", "db://x")
		if f.sees(contents("sql")) {
			t.Error("somebody looks for the secret again")
		}
		expectStates(t, f, map[string]adapter.State{"orders": adapter.Ready})
		if got := string(f.launcher.of("orders")[0].desired.Config); got != `{"dsn":"db://x"}` {
			t.Errorf("config %s", got)
		}
	})
}

func TestNotesAreThoseOfTheLastLook(t *testing.T) {
	applied(t, nil, func(t *testing.T, f *fixture) {
		f.sees(&catalog.Contents{Notes: []string{"a", "b"}})
		if diff := cmp.Diff([]string{"a", "b"}, f.Notes()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		f.sees(&catalog.Contents{Notes: []string{"b"}})
		if diff := cmp.Diff([]string{"b"}, f.Notes()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestTheEndOfEverythingHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(nil, "/p")
		f.launcher.draining = make(chan struct{})
		f.sees(contents("echo", "shop"))
		f.sees(contents("shop")) // echo is being drained already
		began := time.Now()
		err := f.stop(context.Background())
		if err == nil || !strings.Contains(err.Error(), "has not stopped") || time.Since(began) != stopTime {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(f.launcher.draining)
		if err := f.stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
