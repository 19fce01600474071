// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

var chaining = []test{
	{"the chains of several processes, restarts and crashes hold", func(t trial) {
		killed := spawn(t, t.Location, "killed", forever)
		for range 50 {
			killed.hear(t)
		}
		killed.kill(t)
		killed.rest(t)
		killed.reap(t)
		for i := range 3 {
			s := t.again()
			id := approved(t, s, callName("approved", i))
			must(t, s.Begin(t.Context(), spends(callName("approved", i), id)))
			must(t, s.Close(t.Context()))
		}
		children := []*child{spawn(t, t.Location, "one", 20), spawn(t, t.Location, "two", 20)}
		must(t, write(t.Store, "mine", 50, func(string) {}))
		for _, c := range children {
			c.rest(t)
			c.succeed(t)
		}
		verify(t, t.Store)
		must(t, t.Store.Close(t.Context()))
		verify(t, t.again())
	}},
	{"a host that writes nothing leaves nothing to verify", func(t trial) {
		must(t, t.Store.Close(t.Context()))
		s := t.again()
		if r := verify(t, s); r.Rows != 0 || r.Checkpoints != 0 {
			t.Errorf("report %+v", r)
		}
	}},
	{"what is refused or repeated leaves no gap", func(t trial) {
		must(t, t.Spoil(row("bad").Tool))
		release := t.block()
		names := append(numbered("call", 20), "bad", "last")
		wait := together(names, func(name string) error { return t.Store.End(t.Context(), record(name)) })
		until(t, "all have queued", func() bool { return t.Store.Health().Queued == len(names) })
		release()
		if err := errors.Join(wait()...); err == nil {
			t.Error("no error")
		}
		id := ask(t, t.Store, "bad")
		must(t, t.Store.Begin(t.Context(), durable("bad")))
		if err := t.Store.Withdraw(t.Context(), id); err == nil {
			t.Error("no error")
		}
		must(t, t.Store.End(t.Context(), record("more")))
		r := verify(t, t.Store)
		if r.Rows != 22 || len(r.Heads) != 1 || r.Heads[0].N != 22 {
			t.Errorf("report %+v", r)
		}
	}},
	{"checkpoints anchor what the others have", func(t trial) {
		s := t.open(t.Location, Opening{Checkpoint: 10})
		must(t, t.Store.End(t.Context(), record("first")))
		for _, name := range numbered("call", 35) {
			must(t, s.End(t.Context(), record(name)))
		}
		must(t, t.Store.End(t.Context(), record("second")))
		must(t, s.Close(t.Context()))
		var marks []int64
		anchored := map[int64]bool{}
		for c, err := range t.Store.Checkpoints(t.Context()) {
			must(t, err)
			if c.Host == s.Host() {
				marks = append(marks, c.N)
				for _, a := range c.Anchors {
					if a.Host == t.Store.Host() {
						anchored[a.N] = true
					}
				}
			}
		}
		if len(marks) != 5 || marks[0] != 1 || marks[4] != 35 || !anchored[1] || !anchored[2] {
			t.Errorf("checkpoints at %v, anchors %v", marks, anchored)
		}
		verify(t, t.Store)
	}},
}

// verify fails unless the whole ledger holds, every row under a signature.
func verify(tb testing.TB, s Store) *ledger.Report {
	tb.Helper()
	r, err := ledger.Verify(tb.Context(), s, ledger.Trust{Keys: ledger.NewVerifier(signer().Public())})
	must(tb, err)
	for _, f := range r.Findings {
		tb.Errorf("%+v", f)
	}
	if r.Signed != r.Rows {
		tb.Errorf("%d of %d rows are under a signature", r.Signed, r.Rows)
	}
	return r
}
