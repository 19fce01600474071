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
	"github.com/toolwharf/toolwharf/host/internal/cache"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/redact"
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

// nothingUsed is what every run has used.
type nothingUsed struct{}

func (nothingUsed) Used(context.Context, string) (map[string]int64, error) {
	return map[string]int64{limit.Calls: 1, limit.Cost: 1, "orders_get": 1}, nil
}

// everyLimit holds, far away.
func everyLimit() *limit.Policy {
	far := limit.Rate{N: 1_000_000, Per: time.Second}
	return &limit.Policy{
		Admission: far, Rate: far, MaxCalls: 1 << 40, Budget: limit.MaxAmount, Rates: &limit.Rates{}, Counts: nothingUsed{},
		Adapters: map[string]limit.Adapter{"orders": {Rate: far, Tools: map[string]limit.Tool{
			"get": {Rate: far, Cost: new(limit.Amount(1)), MaxCalls: 1 << 40},
		}}},
	}
}

type instant struct{ result tool.Result }

func (r *instant) Run(context.Context, *tool.Attempt) (tool.Outcome, error) {
	given := r.result
	return &given, nil
}

// judging are rules, and more of them.
func judging(tb testing.TB, more ...rules.Rule) *rules.Rules {
	tb.Helper()
	policy, err := rules.New(append([]rules.Rule{
		{Verb: rules.Deny, Names: []string{"shop_*"}, Line: 1},
		{Verb: rules.Deny, Names: []string{"orders_*"}, Principals: []string{"anonymous"}, Line: 2},
	}, more...), rules.Defaults{})
	if err != nil {
		tb.Fatal(err)
	}
	return policy
}

// whole is an executor with every gate and filter at work, and a small call.
func whole(tb testing.TB, effects tool.Effects) (*Executor, *ledgerOf, *tool.Call) {
	tb.Helper()
	policy := judging(tb, rules.Rule{
		Verb: rules.Deny, Names: []string{"orders_get"}, When: `args.id > 1000 && !("admin" in principal.scopes)`, Line: 3,
	})
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
	secrets := &redact.Redactor{}
	secrets.Set("orders", []string{"postgres://orders:hunter2-hunter2@db/orders"})
	secrets.SetHost([]string{"tr0ub4dor-and-3"})
	x := New(Config{
		Redactor: secrets,
		Keyer:    ledger.NewKeyer([]byte("key")), Registry: f.Registry, Gates: f.Gates, Limits: everyLimit(), Journal: l, MaxResult: 1 << 20, Host: "host_1", Log: slog.New(slog.DiscardHandler),
	})
	return x, l, callOf(tb, `{"id":7,"with":["items"]}`)
}

// BenchmarkDo is one call through every gate and filter, with a journal and an
// adapter that cost nothing. The goal is 60 allocations, 8 KB and 25 us. What a stage
// costs is what a call costs less without it.
func BenchmarkDo(b *testing.B) {
	for _, bc := range []struct {
		name    string
		effects tool.Effects
		ok      bool
		without func(*Executor)
	}{
		{"answered", tool.ReadOnly, true, func(*Executor) {}},
		{"answered without conditions", tool.ReadOnly, true, func(x *Executor) {
			x.SetPolicy(&Policy{Gates: []Gate{judging(b), approval.Gate{}}, Limits: x.Limits})
		}},
		{"answered without rules", tool.ReadOnly, true, func(x *Executor) {
			x.SetPolicy(&Policy{Gates: []Gate{approval.Gate{}}, Limits: x.Limits})
		}},
		{"answered without limits", tool.ReadOnly, true, func(x *Executor) { x.SetPolicy(&Policy{Gates: x.Gates}) }},
		{"answered without redaction", tool.ReadOnly, true, func(x *Executor) { x.Redactor = nil }},
		{"answered by the cache", tool.ReadOnly, true, keepsAnswers},
		{"refused", tool.Destructive, false, func(*Executor) {}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			x, l, call := whole(b, bc.effects)
			bc.without(x)
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

// keepsAnswers lets an executor keep the answers of its tool.
func keepsAnswers(x *Executor) {
	x.Answers = cache.New(cache.Default)
	p := *x.Policy()
	p.Cache = cache.Policy{"orders": {"get": {TTL: time.Hour}}}
	x.SetPolicy(&p)
}

func TestACallCostsNoMoreThan60AllocationsAnd8KB(t *testing.T) {
	for name, with := range map[string]func(*Executor){"sent": func(*Executor) {}, "answered by the cache": keepsAnswers} {
		t.Run(name, func(t *testing.T) {
			x, l, call := whole(t, tool.ReadOnly)
			with(x)
			const calls = 200
			do := func() { _, _ = x.Do(t.Context(), call) }
			if n := testing.AllocsPerRun(calls, do); n > 60 {
				t.Errorf("%v allocations", n)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range calls {
				do()
			}
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) / calls; n > 8<<10 {
				t.Errorf("%d bytes", n)
			}
			if l.other != 0 || l.ok == 0 {
				t.Errorf("%d answered, %d not", l.ok, l.other)
			}
		})
	}
}
