// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ledgerOf counts the records and keeps nothing, so that only the executor is
// measured.
type ledgerOf struct{ ok, other int }

func (*ledgerOf) Begin(context.Context, Intent) error { return nil }

func (l *ledgerOf) End(_ context.Context, r Record) error {
	if r.Outcome == ledger.OK {
		l.ok++
	} else {
		l.other++
	}
	return nil
}

type instant struct{ result tool.Result }

func (r *instant) Run(context.Context, *tool.Attempt) (tool.Outcome, error) {
	given := r.result
	return &given, nil
}

// whole is an executor with every gate and filter at work, and a small call.
func whole(tb testing.TB, effects tool.Effects) (*Executor, *ledgerOf, *tool.Call) {
	tb.Helper()
	policy, err := rules.New([]rules.Rule{
		{Verb: rules.Deny, Names: []string{"shop_*"}, Line: 1},
		{Verb: rules.Deny, Names: []string{"orders_*"}, Principals: []string{"anonymous"}, Line: 2},
		{Verb: rules.Deny, Names: []string{"orders_get"}, When: `args.id > 1000 && !("admin" in principal.scopes)`, Line: 3},
	}, rules.Defaults{})
	if err != nil {
		tb.Fatal(err)
	}
	f := newFixture(tb, setting{
		effects: effects, max: 1 << 20, gates: []Gate{policy, approval.Gate{}},
		limits: registry.Limits{Timeout: 30 * time.Second, MaxInFlight: 16},
		input:  `{"type":"object","properties":{"id":{"type":"integer"},"with":{"type":"array","items":{"type":"string"}}},"required":["id"],"additionalProperties":false}`,
		output: `{"type":"object","properties":{"id":{"type":"integer"},"total":{"type":"number"}},"required":["id","total"]}`,
	})
	o, _ := f.Registry.Snapshot().Find("orders_get")
	r := &instant{tool.Result{
		Structured: json.RawMessage(`{"id":7,"total":12.5}`), Content: []tool.Content{text("order 7")},
	}}
	if _, err := f.Registry.Replace("orders", r, []*registry.Offer{o}); err != nil {
		tb.Fatal(err)
	}
	l := &ledgerOf{}
	x := New(Config{
		Registry: f.Registry, Gates: f.Gates, Journal: l, MaxResult: 1 << 20, Host: "host_1", Log: slog.New(slog.DiscardHandler),
	})
	return x, l, callOf(tb, `{"id":7,"with":["items"]}`)
}

// BenchmarkDo is one call through every gate and filter, with a journal and an
// adapter that cost nothing. The goal is 60 allocations and 8 KB.
func BenchmarkDo(b *testing.B) {
	for _, bc := range []struct {
		name    string
		effects tool.Effects
		ok      bool
	}{
		{"answered", tool.ReadOnly, true},
		{"refused", tool.Destructive, false},
	} {
		b.Run(bc.name, func(b *testing.B) {
			x, l, call := whole(b, bc.effects)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = x.Do(b.Context(), call)
			}
			if (l.ok > 0) != bc.ok || (l.other > 0) == bc.ok {
				b.Fatalf("%d answered, %d not", l.ok, l.other)
			}
		})
	}
}

func TestACallCostsNoMoreThan60AllocationsAnd8KB(t *testing.T) {
	x, l, call := whole(t, tool.ReadOnly)
	const runs = 200
	if n := testing.AllocsPerRun(runs, func() { _, _ = x.Do(t.Context(), call) }); n > 60 {
		t.Errorf("%v allocations", n)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		_, _ = x.Do(t.Context(), call)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / runs; n > 8<<10 {
		t.Errorf("%d bytes", n)
	}
	if l.other != 0 || l.ok == 0 {
		t.Errorf("%d answered, %d not", l.ok, l.other)
	}
}
