// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// points are the places in a transaction that every store has a name for.
var points = []string{
	"asked", "decided", "decision recorded", "intent written", "charged", "round spent", "approval spent", "row written",
	"intent removed", "settled", "commit", "committed",
}

var crashing = []test{
	{"a crash between any two steps leaves no half of anything", func(t trial) {
		for i, point := range points {
			for _, n := range []int{1, 2 + i%3} {
				c := remote(t, t.Location, Opening{Lease: short}, fmt.Sprintf("%s:%d", point, n))
				c.cycleToDeath(t, fmt.Sprintf("point%d_%d", i, n))
				consistent(t, t.Store)
				countedOnce(t, t.Store)
			}
		}
		verify(t, t.Store)
	}},
	{"a crash at any moment leaves no half of anything", func(t trial) {
		rng := rand.New(rand.NewPCG(3, 4))
		for i := range 12 {
			c := remote(t, t.Location, Opening{Lease: short}, fmt.Sprintf("*:%d", 3+rng.IntN(120)))
			c.cycleToDeath(t, fmt.Sprintf("any%d", i))
			consistent(t, t.Store)
		}
		t.again()
		consistent(t, t.Store)
		countedOnce(t, t.Store)
		verify(t, t.Store)
	}},
	{"a crash while a loss is reported leaves it to the next", func(t trial) {
		c := remote(t, t.Location, Opening{}, "")
		c.hear(t)
		for _, call := range numbered("call", 3) {
			id := approved(t, t.Store, call)
			answered(t, c, "begin", call, id)
		}
		c.leave(t)
		for n := 1; n <= 3; n++ {
			c := remote(t, t.Location, Opening{}, fmt.Sprintf("loss reported:%d", n))
			c.rest(t)
			c.reap(t)
			if open := openIntents(t, t.Store); len(open) != 3 {
				t.Errorf("open: %v", open)
			}
		}
		t.again()
		consistent(t, t.Store)
		verify(t, t.Store)
	}},
	{"kill -9 leaves no half of anything", func(t trial) {
		rng := rand.New(rand.NewPCG(5, 6))
		for i := range 8 {
			c := remote(t, t.Location, Opening{Lease: short}, "")
			c.hear(t)
			newest := mustNewest(t, t.Store)
			c.say(t, "cycle", fmt.Sprintf("kill%d", i))
			until(t, "it is at it", func() bool { return mustNewest(t, t.Store) > newest+rng.Int64N(20) })
			c.kill(t)
			c.rest(t)
			c.reap(t)
			consistent(t, t.Store)
			countedOnce(t, t.Store)
		}
		verify(t, t.Store)
	}},
}

// cycleToDeath lets a child work until it comes to where it dies.
func (c *child) cycleToDeath(tb testing.TB, name string) {
	tb.Helper()
	_, _ = io.WriteString(c.in, "cycle "+name+"\n") // it may have gone by now
	_ = c.in.Close()                                // likewise
	c.rest(tb)
	c.reap(tb)
}

// consistent fails unless approvals, intents and rows tell the same story.
func consistent(tb testing.TB, s Store) {
	tb.Helper()
	decisions, ends := map[string]int{}, map[string]int{}
	for _, r := range all(tb, s) {
		if r.Op == ledger.OpDecision {
			decisions[r.Call]++
		} else {
			ends[r.Call]++
		}
	}
	open := openIntents(tb, s)
	seen := 0
	for r, err := range s.Approvals(tb.Context(), approval.Query{}) {
		must(tb, err)
		if _, isOpen := open[r.Call]; isOpen {
			seen++
			ends[r.Call]++
		}
		want := [2]int{}
		switch r.Status {
		case approval.Approved:
			want = [2]int{1, 0}
		case approval.Used:
			want = [2]int{1, 1}
		case approval.Pending, approval.Denied, approval.Expired, approval.Withdrawn:
		}
		if got := [2]int{decisions[r.Call], ends[r.Call]}; got != want {
			tb.Errorf("%s is %s and has %d decisions and %d begins", r.Call, r.Status, got[0], got[1])
		}
		delete(ends, r.Call)
		delete(decisions, r.Call)
	}
	if seen != len(open) || len(ends) != 0 || len(decisions) != 0 {
		tb.Errorf("begun or ended without an approval: %v, %v, %v", open, ends, decisions)
	}
}
