// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

var stopping = []test{
	{"a process that was stopped for too long ends its calls late, and begins again", func(t trial) {
		c := remote(t, t.Location, Opening{Lease: time.Second}, "")
		c.hear(t)
		answered(t, c, "begin", "a")
		answered(t, c, "begin", "b")
		answered(t, c, "end", "b")
		release := t.block() // else it could be stopped inside a transaction, which would stop everybody
		if err := stop(c.cmd.Process); err != nil {
			t.Skip(err)
		}
		release()
		other := t.open(t.Location, Opening{Lease: short})
		until(t, "it is reported", func() bool { return len(openIntents(t, t.Store)) == 0 })
		must(t, resume(c.cmd.Process))
		answered(t, c, "begin", "c")
		t.again() // would report it, had it no lease
		if open := openIntents(t, other); len(open) != 1 {
			t.Errorf("open: %v", open)
		}
		answered(t, c, "end", "a")
		answered(t, c, "end", "c")
		answered(t, c, "begin", "a")
		answered(t, c, "end", "a") // in time
		type end struct {
			call    string
			outcome ledger.Outcome
			late    bool
		}
		var got []end
		for _, r := range all(t, t.Store) {
			got = append(got, end{r.Call, r.Outcome, r.Late})
		}
		want := []end{
			{"b", ledger.Failed, false},
			{"a", ledger.Unknown, false},
			{"a", ledger.Failed, true},
			{"c", ledger.Failed, false},
			{"a", ledger.Failed, false},
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(end{})); diff != "" {
			t.Error("-want +got\n" + diff)
		}
		c.leave(t)
		verify(t, t.Store)
	}},
}
