// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// claim is one Acquire that was begun. Its fields are to be read after
// synctest.Wait.
type claim struct {
	cancel  context.CancelFunc
	over    bool
	release func()
	err     *tool.Error
	who     string // of the model
}

func (c *claim) holds() bool { return c.over && c.err == nil }

// acquire begins an Acquire of one principal and returns once it has ended or waits.
func acquire(ctx context.Context, s *Slots, adapter string, max int) *claim {
	return acquireFor(ctx, s, adapter, "ann", max)
}

func acquireFor(ctx context.Context, s *Slots, adapter, who string, max int) *claim {
	ctx, cancel := context.WithCancel(ctx)
	c := &claim{cancel: cancel, who: who}
	go func() {
		c.release, c.err = s.Acquire(ctx, adapter, who, max)
		c.over = true
	}()
	synctest.Wait()
	return c
}

// expectIdle: nothing is kept of an adapter that no call uses.
func expectIdle(t *testing.T, s *Slots) {
	t.Helper()
	if len(s.adapters) != 0 {
		t.Errorf("slots are left over: %+v", s.adapters)
	}
}

func TestNoMoreThanMaxSlotsAreHeldAndTheRestGetTheirTurnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slots
		claims := make([]*claim, 6)
		for i := range claims {
			claims[i] = acquire(t.Context(), &s, "orders", 2)
		}
		if used, waiting := s.Counts("orders"); used != 2 || waiting != 4 {
			t.Errorf("%d in flight, %d waiting", used, waiting)
		}
		for held := range claims {
			for i, c := range claims {
				if got, want := c.holds(), i < held+2; got != want {
					t.Fatalf("after %d releases: claim %d holds a slot: %v, want %v", held, i, got, want)
				}
			}
			claims[held].release()
			synctest.Wait()
		}
		expectIdle(t, &s)
	})
}

func TestMaxZeroIsNoBound(t *testing.T) {
	var s Slots
	for range 1000 {
		if _, err := s.Acquire(t.Context(), "orders", "ann", 0); err != nil {
			t.Fatal(err)
		}
	}
	expectIdle(t, &s)
}

func TestBeyondTheQueueACallIsRefusedAndToldWhenToTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const max = 2
		var s Slots
		var claims []*claim
		for range max + queueFactor*max {
			claims = append(claims, acquire(t.Context(), &s, "orders", max))
		}
		refused := acquire(t.Context(), &s, "orders", max)
		if !refused.over || refused.err == nil {
			t.Fatal("the queue has no bound")
		}
		e := refused.err
		if e.Kind != tool.RateLimited || e.Code != "adapter_busy" || e.RetryAfter <= 0 || e.Sent {
			t.Errorf("refused with %+v", e)
		}
		if !strings.Contains(e.Text, "adapter orders has 2 calls in flight and 8 waiting") {
			t.Errorf("text %q", e.Text)
		}

		claims[0].release()
		synctest.Wait()
		if c := acquire(t.Context(), &s, "orders", max); c.over {
			t.Errorf("the place that became free in the queue was not given: %v", c.err)
		} else {
			claims = append(claims, c)
		}
		for _, c := range claims[1:] {
			c.release()
			synctest.Wait()
		}
		expectIdle(t, &s)
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*claim)
		kind tool.Kind
	}{
		"cancelled by the caller": {func(c *claim) { c.cancel() }, tool.Cancelled},
		"past the deadline":       {func(*claim) { time.Sleep(time.Minute) }, tool.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s Slots
				holder := acquire(t.Context(), &s, "orders", 1)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				gone := acquire(ctx, &s, "orders", 1)
				next := acquire(t.Context(), &s, "orders", 1)
				tc.end(gone)
				synctest.Wait()
				if gone.err == nil || gone.err.Kind != tc.kind || gone.err.Sent {
					t.Fatalf("ended with %+v, want %s", gone.err, tc.kind)
				}
				holder.release()
				synctest.Wait()
				if !next.holds() {
					t.Fatal("the slot went to nobody")
				}
				next.release()
				expectIdle(t, &s)
			})
		})
	}
}

func TestATurnThatComesToOneWhoLeavesGoesToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slots
		holder := acquire(t.Context(), &s, "orders", 1)
		// The one who leaves, as Acquire has it between the two: its turn has
		// come, and ctx has ended.
		mine := &turn{done: make(chan struct{})}
		s.adapters["orders"].enqueue("ann", mine)
		next := acquire(t.Context(), &s, "orders", 1)
		holder.release()
		<-mine.done
		s.leave("orders", "ann", mine)
		synctest.Wait()
		if !next.holds() {
			t.Fatal("the slot was lost")
		}
		next.release()
		expectIdle(t, &s)
	})
}

func TestPrincipalsGetTheirTurnsOneAfterTheOtherHoweverManyCallsOneSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slots
		holder := acquireFor(t.Context(), &s, "orders", "eve", 1)
		var claims []*claim
		for _, who := range []string{"eve", "eve", "ann", "bob"} {
			claims = append(claims, acquireFor(t.Context(), &s, "orders", who, 1))
		}
		holder.release()
		synctest.Wait()
		for _, i := range []int{0, 2, 3, 1} { // eve, ann, bob, eve
			if !claims[i].holds() {
				t.Fatalf("it is the turn of claim %d, and it does not hold", i)
			}
			claims[i].release()
			synctest.Wait()
		}
		expectIdle(t, &s)
	})
}

func TestAFullQueueIsNobodysAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slots
		holder := acquireFor(t.Context(), &s, "orders", "eve", 1)
		var eves []*claim
		for range queueFactor {
			eves = append(eves, acquireFor(t.Context(), &s, "orders", "eve", 1))
		}
		if c := acquireFor(t.Context(), &s, "orders", "eve", 1); c.err == nil {
			t.Fatal("eve pushed herself out")
		}
		first, second := acquireFor(t.Context(), &s, "orders", "ann", 1), acquireFor(t.Context(), &s, "orders", "ann", 1)
		synctest.Wait()
		for i, c := range eves {
			if pushed := c.over && c.err != nil && c.err.Code == "adapter_busy"; pushed != (i >= 2) {
				t.Errorf("eve's call %d was pushed out: %v (%v)", i, pushed, c.err)
			}
		}
		if first.over || second.over {
			t.Fatal("ann does not wait for her turn")
		}
		if c := acquireFor(t.Context(), &s, "orders", "ann", 1); c.err == nil {
			t.Error("ann took more than eve has")
		}
		for _, c := range []*claim{holder, eves[0], first, eves[1], second} {
			if !c.holds() {
				t.Fatal("the turns are not in order")
			}
			c.release()
			synctest.Wait()
		}
		expectIdle(t, &s)
	})
}

func TestAdaptersDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slots
		slow := acquire(t.Context(), &s, "slow", 1)
		waits := acquire(t.Context(), &s, "slow", 1)
		quick := acquire(t.Context(), &s, "quick", 1)
		if !slow.holds() || waits.over || !quick.holds() {
			t.Fatalf("holds: slow %v, the next on slow %v, quick %v", slow.holds(), waits.over, quick.holds())
		}
		quick.release()
		synctest.Wait()
		if waits.over {
			t.Error("a slot of another adapter was given")
		}
		slow.release()
		synctest.Wait()
		waits.release()
		expectIdle(t, &s)
	})
}

func TestWhenMaxBecomesSmallerSlotsBeyondItAreNotHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slots
		var before []*claim
		for range 4 {
			before = append(before, acquire(t.Context(), &s, "orders", 4))
		}
		after := acquire(t.Context(), &s, "orders", 2)
		for i, c := range before[:2] {
			c.release()
			synctest.Wait()
			if after.over {
				t.Fatalf("with max 2 a slot was given while %d calls were in flight", 3-i)
			}
		}
		before[2].release()
		synctest.Wait()
		if !after.holds() {
			t.Fatal("a free slot was not given")
		}
		before[3].release()
		after.release()
		expectIdle(t, &s)
	})
}

func TestWhenMaxBecomesLargerThoseWhoWaitGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slots
		claims := []*claim{acquire(t.Context(), &s, "orders", 1)}
		for range 3 {
			claims = append(claims, acquire(t.Context(), &s, "orders", 1))
		}
		claims = append(claims, acquire(t.Context(), &s, "orders", 3))
		for i, c := range claims {
			if got, want := c.holds(), i < 3; got != want {
				t.Errorf("claim %d holds a slot: %v, want %v", i, got, want)
			}
		}
		for _, c := range claims {
			c.release()
			synctest.Wait()
		}
		expectIdle(t, &s)
	})
}

// A context that ends at the very moment of the turn is a race of Acquire's
// select, which no schedule of synctest's reaches for certain: many tries.
func TestNoSlotIsLostWhenContextsEndAllTheTime(t *testing.T) {
	const max, callers, calls = 3, 16, 300
	var s Slots
	var held, most atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range calls {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				release, err := s.Acquire(ctx, "orders", "ann", max)
				if err != nil {
					continue
				}
				for n := held.Add(1); ; {
					if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				held.Add(-1)
				release()
			}
		})
	}
	wg.Wait()
	if most.Load() > max {
		t.Errorf("%d slots of %d were held at once", most.Load(), max)
	}
	expectIdle(t, &s)
}
