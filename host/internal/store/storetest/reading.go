// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var reading = []test{
	{"an empty ledger has no rows", func(t trial) {
		if got := all(t, t.Store); len(got) != 0 {
			t.Errorf("got %v", got)
		}
		if n, err := t.Store.Newest(t.Context()); n != 0 || err != nil {
			t.Errorf("newest %d, %v", n, err)
		}
		if got := collect(t, t.Store.Rows(t.Context(), ledger.Query{Last: 3, Run: "r"})); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	}},
	{"a query selects what it says", func(t trial) {
		model := fill(t, t.Store, 1000)
		for _, q := range queries() {
			sameRows(t, selectFrom(model, q), collect(t, t.Store.Rows(t.Context(), q)))
			if t.Failed() {
				t.Fatalf("%+v", q)
			}
		}
	}},
	{"a reader that breaks off disturbs nothing", func(t trial) {
		fill(t, t.Store, 300)
		for r, err := range t.Store.Rows(t.Context(), ledger.Query{}) {
			must(t, err)
			if r.Seq == 200 {
				break
			}
		}
		if got := all(t, t.Store); len(got) != 300 {
			t.Errorf("%d rows", len(got))
		}
	}},
	{"a reader may write, and read again, and does not see what it writes", func(t trial) {
		fill(t, t.Store, 300)
		n := 0
		for _, err := range t.Store.Rows(t.Context(), ledger.Query{}) {
			must(t, err)
			n++
			if n%100 == 0 {
				must(t, t.Store.End(t.Context(), record(strconv.Itoa(n))))
				if got := collect(t, t.Store.Rows(t.Context(), ledger.Query{Last: 1})); len(got) != 1 {
					t.Errorf("got %v", got)
				}
			}
		}
		if n != 300 {
			t.Errorf("%d rows", n)
		}
	}},
	{"a reader ends with its context", func(t trial) {
		fill(t, t.Store, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for _, err := range t.Store.Rows(ctx, ledger.Query{}) {
			cancel()
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("got %v", last)
		}
		for _, err := range t.Store.Intents(ctx) {
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("got %v", last)
		}
	}},
}

// fill writes n rows of a few tools, runs and so on, and returns them.
func fill(tb testing.TB, s Store, n int) []ledger.Row {
	tb.Helper()
	model := make([]ledger.Row, 0, n)
	for i := range n {
		r := row(fmt.Sprintf("call_%d", i))
		r.Tool = fmt.Sprintf("tool_%d", i%3)
		r.Adapter = fmt.Sprintf("adapter_%d", i%5)
		r.Run = fmt.Sprintf("run_%d", i/100)
		r.Principal = fmt.Sprintf("principal_%d", i%2)
		if i%7 == 0 {
			r.Outcome, r.Kind, r.Run = ledger.Refused, tool.Denied, ""
		}
		must(tb, s.End(tb.Context(), executor.Record{Row: r, Behind: i < n-1}))
		r.Seq = int64(i) + 1
		model = append(model, r)
	}
	return model
}

func queries() []ledger.Query {
	bases := []ledger.Query{
		{},
		{Tool: "tool_1"},
		{Adapter: "adapter_2"},
		{Run: "run_3"},
		{Call: "call_77"},
		{Principal: "principal_1"},
		{Approval: "apr_call_44"},
		{Host: "nothing"},
		{Since: row("call_3").Ended},
		{Until: row("call_5").Ended},
		{Outcome: ledger.Refused},
		{Kind: tool.ToolFailed},
		{Op: tool.OpTool},
		{Op: ledger.OpReload},
		{Tool: "nothing"},
		{Run: "nothing"},
		{Tool: "tool_0", Adapter: "adapter_0", Outcome: ledger.Refused, Kind: tool.Denied},
		{Run: "run_4", Tool: "tool_2", Principal: "principal_0"},
		{Tool: "' OR 1=1 --"},
	}
	afters := []int64{0, 1, 500, 1000, 5000, -1}
	lasts := []int{0, 1, 10, 129, 5000, -1}
	qs := make([]ledger.Query, 0, len(bases)*len(afters)*len(lasts))
	for _, q := range bases {
		for _, q.After = range afters {
			for _, q.Last = range lasts {
				qs = append(qs, q)
			}
		}
	}
	return qs
}

// selectFrom is the meaning of a Query.
func selectFrom(model []ledger.Row, q ledger.Query) []ledger.Row {
	is := func(want, got string) bool { return want == "" || want == got }
	var rows []ledger.Row
	for _, r := range model {
		if r.Seq > q.After && is(q.Tool, r.Tool) && is(q.Adapter, r.Adapter) && is(q.Run, r.Run) &&
			is(q.Call, r.Call) && is(q.Principal, r.Principal) && is(q.Approval, r.Approval) && is(q.Host, r.Host) &&
			(q.Since.IsZero() || !r.Ended.Before(q.Since)) && (q.Until.IsZero() || r.Ended.Before(q.Until)) &&
			is(string(q.Outcome), string(r.Outcome)) && is(string(q.Kind), string(r.Kind)) && is(string(q.Op), string(r.Op)) {
			rows = append(rows, r)
		}
	}
	if q.Last > 0 && len(rows) > q.Last {
		rows = slices.Clone(rows[len(rows)-q.Last:])
	}
	return rows
}
