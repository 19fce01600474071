// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// short is a lease that a test waits for. Nothing is right because it has run
// out by now: that is waited for.
const short = 300 * time.Millisecond

var recovering = []test{
	{"what a killed process has begun is reported once, though several look for it", func(t trial) {
		c := remote(t, t.Location, Opening{Lease: short}, "")
		host := strings.TrimPrefix(c.hear(t), "ok ")
		names := append(numbered("call", 5), "with approval")
		for _, call := range names[:5] {
			answered(t, c, "begin", call)
		}
		names[5] = "approved"
		id := approved(t, t.Store, "approved")
		answered(t, c, "begin", "approved", id)
		c.kill(t)
		c.rest(t)
		c.reap(t)
		others := map[string]bool{}
		for range 3 {
			others[t.open(t.Location, Opening{Lease: short / 3}).Host()] = true
		}
		until(t, "all are reported", func() bool { return len(openIntents(t, t.Store)) == 0 })
		checkLost(t, t.Store, names, host, others)
		r, err := t.Store.Approval(t.Context(), id)
		must(t, err)
		if r.Status != approval.Used || r.Running {
			t.Errorf("its approval is %s, running %t", r.Status, r.Running)
		}
		refusedFor(t, t.Store.Begin(t.Context(), spends("approved", id)), approval.Used, false)
		verify(t, t.Store)
	}},
	{"many that open at once report it once", func(t trial) {
		c := remote(t, t.Location, Opening{}, "")
		host := strings.TrimPrefix(c.hear(t), "ok ")
		names := numbered("call", 100) // more than are reported in one transaction
		for _, call := range names {
			answered(t, c, "begin", call)
		}
		c.leave(t) // without ending them
		others := map[string]bool{}
		opened := make(chan Store, 6)
		wait := together(numbered("opener", cap(opened)), func(string) error {
			s, err := t.Open(t.Location, Opening{}.whole())
			if err == nil {
				opened <- s
			}
			return err
		})
		must(t, errors.Join(wait()...))
		close(opened)
		for s := range opened {
			others[s.Host()] = true
			t.Cleanup(func() { finish(t, s) })
		}
		checkLost(t, t.Store, names, host, others)
		verify(t, t.Store)
	}},
	{"what a living host has begun is left alone", func(t trial) {
		must(t, t.Store.Begin(t.Context(), durable("a")))
		t.again()
		if open := openIntents(t, t.Store); len(open) != 1 {
			t.Errorf("open: %v", open)
		}
		must(t, t.Store.End(t.Context(), record("a")))
		if got := all(t, t.Store); len(got) != 1 || got[0].Late {
			t.Errorf("got %v", got)
		}
	}},
}

// answered tells a child to do something that must succeed.
func answered(tb testing.TB, c *child, words ...string) {
	tb.Helper()
	if got := c.ask(tb, words...); !strings.HasPrefix(got, "ok") {
		tb.Fatalf("%v: %s", words, got)
	}
}

// checkLost fails unless each call has one row, which says that its host was
// lost, in the chain of one of others.
func checkLost(tb testing.TB, s Store, names []string, host string, others map[string]bool) {
	tb.Helper()
	found := map[string]int{}
	for _, got := range all(tb, s) {
		if got.Op == ledger.OpDecision {
			continue
		}
		found[got.Call]++
		want := begun(row(got.Call))
		want.Seq, want.Host, want.Ended, want.Detail = got.Seq, got.Host, got.Ended, got.Detail
		want.Outcome, want.Kind, want.Code, want.Ran = ledger.Unknown, tool.OutcomeUnknown, "host_lost", tool.RanUnknown
		if got != want || !strings.Contains(got.Detail, host) || !others[got.Host] || got.Ended.IsZero() {
			tb.Errorf("row %+v", got)
		}
	}
	for _, name := range names {
		if found[name] != 1 {
			tb.Errorf("%s is reported %d times", name, found[name])
		}
	}
	if len(found) != len(names) {
		tb.Errorf("%d calls, want %d", len(found), len(names))
	}
}
