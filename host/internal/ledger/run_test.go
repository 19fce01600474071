// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

type list []ledger.Row

func (l list) Rows(_ context.Context, q ledger.Query) iter.Seq2[ledger.Row, error] {
	return func(yield func(ledger.Row, error) bool) {
		for _, r := range l {
			if q.Match(&r) && !yield(r, nil) {
				return
			}
		}
	}
}

func TestRunsAreWhatTheirRowsSay(t *testing.T) {
	at := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
	row := func(seq int, run string, outcome ledger.Outcome, cost string) ledger.Row {
		return ledger.Row{
			Seq: int64(seq), Run: run, Principal: "p/" + run, Outcome: outcome, Cost: cost,
			Started: at.Add(time.Duration(seq) * time.Second), Ended: at.Add(time.Duration(seq)*time.Second + time.Millisecond),
		}
	}
	decision := row(3, "run_A", ledger.Approved, "5")
	decision.Op, decision.Principal = ledger.OpDecision, "operator/ann"
	l := list{
		row(1, "run_A", ledger.Pending, ""), row(2, "run_B", ledger.OK, "0.1"), decision,
		row(4, "run_A", ledger.OK, "0.30"), row(5, "run_A", ledger.OK, "1e-3"), row(6, "run_A", ledger.Failed, "1e999999999"),
		row(7, "", ledger.OK, ""),
	}
	got, err := ledger.Runs(t.Context(), l, ledger.Query{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Run{
		{
			Run: "run_A", Principal: "p/run_A", First: l[0].Started, Last: l[5].Ended, Decisions: 1, Cost: "0.301",
			Calls: map[ledger.Outcome]int64{ledger.Pending: 1, ledger.OK: 2, ledger.Failed: 1},
		},
		{
			Run: "run_B", Principal: "p/run_B", First: l[1].Started, Last: l[1].Ended, Cost: "0.1",
			Calls: map[ledger.Outcome]int64{ledger.OK: 1},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(ledger.Run{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got, err := ledger.Runs(t.Context(), l, ledger.Query{}, 1); err != nil || len(got) != 1 || got[0].Run != "run_A" {
		t.Errorf("the newest: %v, %v", got, err)
	}
}

func TestAQueryMatchesWhatItNames(t *testing.T) {
	r := fullRow()
	if !(&ledger.Query{}).Match(&r) {
		t.Error("the zero Query does not match")
	}
	for name, q := range map[string]ledger.Query{
		"since": {Since: r.Ended}, "until": {Until: r.Ended.Add(time.Microsecond)}, "after": {After: r.Seq - 1},
		"tool": {Tool: r.Tool}, "adapter": {Adapter: r.Adapter}, "run": {Run: r.Run}, "call": {Call: r.Call},
		"principal": {Principal: r.Principal}, "approval": {Approval: r.Approval}, "host": {Host: r.Host},
		"outcome": {Outcome: r.Outcome}, "kind": {Kind: r.Kind},
	} {
		if !q.Match(&r) {
			t.Errorf("%s does not match", name)
		}
	}
	for name, q := range map[string]ledger.Query{
		"since": {Since: r.Ended.Add(time.Microsecond)}, "until": {Until: r.Ended}, "after": {After: r.Seq},
		"tool": {Tool: "x"}, "adapter": {Adapter: "x"}, "run": {Run: "x"}, "call": {Call: "x"}, "principal": {Principal: "x"},
		"approval": {Approval: "x"}, "host": {Host: "x"}, "outcome": {Outcome: "x"}, "kind": {Kind: "x"},
	} {
		if q.Match(&r) {
			t.Errorf("another %s matches", name)
		}
	}
}
