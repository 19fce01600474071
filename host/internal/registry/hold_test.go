// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/registry"
)

func TestAReplacedRunnerIsFreeOnlyAfterTheLastRelease(t *testing.T) {
	r := registry.New()
	old, next := &runner{"old"}, &runner{"next"}
	replace(t, r, "a", old, offers("a", "a_get", "a_put"))
	_, release1, _ := r.Acquire("a_get")
	_, release2, _ := r.Acquire("a_put")

	free := replace(t, r, "a", next, offers("a", "a_get"))
	e, release3, ok := r.Acquire("a_get")
	if !ok || e.Runner != next {
		t.Fatalf("a call after the replacement got %v", e.Runner)
	}
	release1()
	if closed(free) {
		t.Fatal("free while one call holds it")
	}
	release2()
	if !closed(free) {
		t.Fatal("not free though no call holds it")
	}
	release3()
}

func TestARunnerThatNobodyHoldsIsFreeAtOnce(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *registry.Registry) <-chan struct{}{
		"replaced": func(t *testing.T, r *registry.Registry) <-chan struct{} {
			return replace(t, r, "a", &runner{"next"}, offers("a", "a_get"))
		},
		"removed": func(t *testing.T, r *registry.Registry) <-chan struct{} {
			return replace(t, r, "a", nil, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.New()
			if !closed(replace(t, r, "a", &runner{"old"}, offers("a", "a_get"))) {
				t.Error("there was nothing before, yet it is held")
			}
			_, release, _ := r.Acquire("a_get")
			release()
			if !closed(change(t, r)) {
				t.Error("held by nobody, yet not free")
			}
		})
	}
}

func TestANewCatalogueOfTheSameRunnerRetiresNothing(t *testing.T) {
	r := registry.New()
	same := &runner{"same"}
	replace(t, r, "a", same, offers("a", "a_get"))
	_, release1, _ := r.Acquire("a_get")
	if free := replace(t, r, "a", same, offers("a", "a_get", "a_put")); !closed(free) {
		t.Error("something is waited for")
	}
	_, release2, ok := r.Acquire("a_put")
	if !ok {
		t.Fatal("the runner was retired")
	}
	free := replace(t, r, "a", nil, nil)
	release1()
	if closed(free) {
		t.Error("a hold under the first catalogue was forgotten")
	}
	release2()
	if !closed(free) {
		t.Error("not free though no call holds it")
	}
}

func TestARunnerThatComesBackIsHeldAnew(t *testing.T) {
	r := registry.New()
	first, second := &runner{"first"}, &runner{"second"}
	replace(t, r, "a", first, offers("a", "a_get"))
	_, release, _ := r.Acquire("a_get")
	away := replace(t, r, "a", second, offers("a", "a_get"))
	replace(t, r, "a", first, offers("a", "a_get"))
	_, releaseAgain, _ := r.Acquire("a_get")
	again := replace(t, r, "a", nil, nil)
	release()
	if !closed(away) || closed(again) {
		t.Errorf("free: first time %v, second time %v", closed(away), closed(again))
	}
	releaseAgain()
	if !closed(again) {
		t.Error("not free though no call holds it")
	}
}

// generation is a runner that knows whether it may be used.
type generation struct {
	runner

	held    atomic.Int64
	drained atomic.Bool
}

// Swaps, catalogue changes, calls and readers at once: a call never holds a
// runner that may be drained, and a reader never sees half of an adapter.
func TestCallsAndReadersStandWhileAdaptersAreSwapped(t *testing.T) {
	const adapters, tools, swaps = 4, 5, 300
	r := registry.New()
	name := func(a, i int) string { return fmt.Sprintf("a%d_t%d", a, i) }
	var writers, readers sync.WaitGroup
	for a := range adapters {
		writers.Go(func() {
			adapter := fmt.Sprintf("a%d", a)
			for n := range swaps {
				next := &generation{runner: runner{fmt.Sprint(n)}}
				var what []*registry.Offer
				for i := range tools {
					o := aliased(adapter, name(a, i), "")
					o.Spec.Title = next.name
					what = append(what, o)
				}
				replace(t, r, adapter, next, what)
				replace(t, r, adapter, next, what) // a catalogue change
				free := replace(t, r, adapter, nil, nil)
				<-free
				next.drained.Store(true)
				if held := next.held.Load(); held != 0 {
					t.Errorf("free while %d calls hold it", held)
				}
			}
		})
	}
	stop := make(chan struct{})
	for reader := range 4 {
		readers.Go(func() {
			for i := reader; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				checkSnapshot(t, r.Snapshot(), tools)
				e, release, ok := r.Acquire(name(i%adapters, i%tools))
				if !ok {
					continue
				}
				g := e.Runner.(*generation)
				g.held.Add(1)
				if g.drained.Load() {
					t.Error("a call holds a runner that was drained")
				}
				if g.name != e.Spec.Title {
					t.Errorf("spec of generation %s with the runner of %s", e.Spec.Title, g.name)
				}
				g.held.Add(-1)
				release()
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

func checkSnapshot(t *testing.T, s *registry.Snapshot, tools int) {
	t.Helper()
	seen := map[string]map[string]int{}
	for _, o := range s.Offers {
		if seen[o.Spec.Adapter] == nil {
			seen[o.Spec.Adapter] = map[string]int{}
		}
		seen[o.Spec.Adapter][o.Spec.Title]++
	}
	for adapter, generations := range seen {
		for g, n := range generations {
			if len(generations) != 1 || n != tools {
				t.Errorf("%s: %d of %d tools of generation %s, %d generations at once", adapter, n, tools, g, len(generations))
			}
		}
	}
}
