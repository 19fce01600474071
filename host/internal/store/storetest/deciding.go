// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

var deciding = []test{
	{"a decision is in the approval and in the ledger, or in neither", func(t trial) {
		for _, tc := range []struct {
			call string
			d    approval.Decision
			want ledger.Outcome
		}{
			{"plain", approval.Decision{Approve: true, By: "operator/ann"}, ledger.Approved},
			{"edited", approval.Decision{
				Approve: true, By: "operator/ann", Edited: []byte(`{"less":1}`), Reason: "less",
			}, ledger.Approved},
			{"denied", approval.Decision{By: "operator/bob", Reason: "not on a Friday"}, ledger.Denied},
		} {
			id := ask(t, t.Store, tc.call)
			r, err := t.Store.Decide(t.Context(), id, tc.d)
			must(t, err)
			read, err := t.Store.Approval(t.Context(), id)
			must(t, err)
			want := asked(tc.call)
			want.ID, want.Created, want.Expires, want.Decided = id, r.Created, r.Expires, r.Decided
			want.Status, want.DecidedBy, want.Reason = approval.Status(tc.want), tc.d.By, tc.d.Reason
			want.Edited = tc.d.Edited
			if diff := cmp.Diff([]*approval.Record{&want, &want}, []*approval.Record{r, read}); diff != "" {
				t.Error("-want +got\n" + diff)
			}
			row := ledger.Row{
				Started: r.Decided, Ended: r.Decided, Call: want.Call, Run: want.Run, Principal: tc.d.By,
				Op: ledger.OpDecision, Tool: want.Tool, Adapter: want.Adapter, Effects: want.Effects, Spec: want.Spec,
				Args: digest(want.Runs()), Approval: id, DecidedBy: tc.d.By, Outcome: tc.want, Detail: tc.d.Reason,
			}
			if tc.d.Edited != nil {
				row.Asked = digest(want.Args)
			}
			got := collect(t, t.Store.Rows(t.Context(), ledger.Query{Last: 1}))
			row.Seq = got[0].Seq
			sameRows(t, []ledger.Row{row}, got)
		}
		must(t, t.Spoil(row("spoilt").Tool))
		id := ask(t, t.Store, "spoilt")
		if _, err := t.Store.Decide(t.Context(), id, approval.Decision{By: "operator"}); err == nil {
			t.Error("the ledger is spoilt, and there was a decision")
		}
		statusIs(t, t.Store, id, approval.Pending)
	}},
	{"only what is pending can be decided", func(t trial) {
		other := t.again()
		for _, status := range statuses[1:] {
			id := inStatus(t, t.Store, string(status), status)
			rows := mustNewest(t, t.Store)
			for _, s := range []Store{t.Store, other} {
				for _, approve := range []bool{true, false} {
					_, err := s.Decide(t.Context(), id, approval.Decision{Approve: approve, By: "operator"})
					refusedFor(t, err, status, false)
				}
				must(t, s.Withdraw(t.Context(), id))
			}
			statusIs(t, t.Store, id, status)
			if n := mustNewest(t, t.Store); n != rows {
				t.Errorf("%s: %d rows more", status, n-rows)
			}
		}
		if _, err := other.Decide(t.Context(), "apr_X", approval.Decision{By: "operator"}); !errors.Is(err, approval.ErrNone) {
			t.Errorf("got %v", err)
		}
	}},
	{"a decision that says too little or too much is none", func(t trial) {
		id := ask(t, t.Store, "a")
		for _, d := range []approval.Decision{{Approve: true}, {By: "operator", Edited: []byte("{}")}} {
			if _, err := t.Store.Decide(t.Context(), id, d); err == nil {
				t.Errorf("%+v: no error", d)
			}
		}
		statusIs(t, t.Store, id, approval.Pending)
	}},
	{"withdrawing is recorded", func(t trial) {
		id := ask(t, t.Store, "a")
		must(t, t.Store.Withdraw(t.Context(), id))
		got := all(t, t.Store)
		if len(got) != 1 || got[0].Outcome != ledger.Withdrawn || got[0].Principal != asked("a").Principal ||
			got[0].Approval != id || got[0].Op != ledger.OpDecision {
			t.Errorf("got %+v", got)
		}
	}},
	{"of many decisions at once in two processes one counts", func(t trial) {
		other := t.again()
		id := ask(t, t.Store, "a")
		wait := together(numbered("operator", 40), func(by string) error {
			s := t.Store
			if by[len(by)-1]%2 == 0 {
				s = other
			}
			_, err := s.Decide(t.Context(), id, approval.Decision{Approve: by[len(by)-1]%3 == 0, By: by})
			return err
		})
		won := 0
		for _, err := range wait() {
			if err == nil {
				won++
			} else if _, ok := errors.AsType[*approval.StatusError](err); !ok {
				t.Error(err)
			}
		}
		rows := all(t, t.Store)
		r, err := t.Store.Approval(t.Context(), id)
		must(t, err)
		if won != 1 || len(rows) != 1 || rows[0].Principal != r.DecidedBy || string(rows[0].Outcome) != string(r.Status) {
			t.Errorf("%d decisions, rows %+v, approval %+v", won, rows, r)
		}
	}},
	{"a caller that has gone before the transaction has decided and asked nothing", func(t trial) {
		id := ask(t, t.Store, "a")
		release := t.block()
		ctx, cancel := context.WithCancel(t.Context())
		first := together([]string{"first"}, func(name string) error { return t.Store.End(t.Context(), record(name)) })
		until(t, "the writer waits", func() bool { return t.Store.Health().Queued == 1 })
		wait := together([]string{"decide", "withdraw"}, func(what string) error {
			if what == "withdraw" {
				return t.Store.Withdraw(ctx, id)
			}
			_, err := t.Store.Decide(ctx, id, approval.Decision{By: "operator"})
			return err
		})
		until(t, "both have queued", func() bool { return t.Store.Health().Queued == 3 })
		cancel()
		errs := wait()
		release()
		must(t, errors.Join(first()...))
		must(t, t.Store.End(t.Context(), record("last")))
		for _, err := range errs { // unless the writer was quicker and they waited
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if errs[0] != nil && errs[1] != nil {
			statusIs(t, t.Store, id, approval.Pending)
		}
	}},
}
