// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/seal"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// limited is a host with a store of its own and one tool, orders_get.
type limited struct {
	*executor.Executor

	t     *testing.T
	store *sqlite.Store
	run   func(context.Context, *tool.Attempt) (tool.Outcome, error)

	mu   sync.Mutex
	sent int
}

func (l *limited) Run(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
	l.mu.Lock()
	l.sent++
	l.mu.Unlock()
	return l.run(ctx, a)
}

// newLimited makes one. A tool that is not read-only needs an approval.
func newLimited(t *testing.T, effects tool.Effects, p limit.Policy, of limit.Tool, hooks ...executor.Hook) *limited {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "t.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	input, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`), schema.Input)
	if err != nil {
		t.Fatal(err)
	}
	l := &limited{t: t, store: store, run: func(context.Context, *tool.Attempt) (tool.Outcome, error) { return &tool.Result{}, nil }}
	o := &registry.Offer{
		Spec: tool.Spec{Name: "orders_get", Adapter: "orders", Declared: "get", Effects: effects}, Input: input, MayAsk: true,
	}
	o.Spec.Seal()
	r := registry.New()
	if _, err := r.Replace("orders", l, []*registry.Offer{o}); err != nil {
		t.Fatal(err)
	}
	judge, err := rules.New(nil, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.New("test", make([]byte, seal.MinKey))
	if err != nil {
		t.Fatal(err)
	}
	p.Rates, p.Counts = &limit.Rates{}, store
	p.Adapters = map[string]limit.Adapter{"orders": {Tools: map[string]limit.Tool{"get": of}}}
	l.Executor = executor.New(executor.Config{
		Keyer: ledger.NewKeyer([]byte("key")), Registry: r, Gates: []executor.Gate{judge, approval.Gate{Asks: true}}, Hooks: hooks, Limits: &p, Journal: store, Approvals: store, Sealer: sealer,
		Asking: executor.Asking{Deferred: true, Expires: time.Hour, Quota: approval.Quota{PerPrincipal: 100}},
		Host:   store.Host(), Log: slog.New(slog.DiscardHandler),
	})
	return l
}

// call calls as ann, in the run r1.
func (l *limited) call(change func(*tool.Call)) (tool.Outcome, error) {
	l.t.Helper()
	args, err := tool.ParseArgs(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	c := &tool.Call{
		Op: tool.OpTool, Name: "orders_get", Args: args, Run: "r1", Resumable: true, Principal: asker,
		Client: tool.Client{Protocol: "2026-07-28", Capabilities: json.RawMessage(`{"elicitation":{"form":{}}}`)},
	}
	if change != nil {
		change(c)
	}
	return l.Do(l.t.Context(), c)
}

// code is how a call ended.
func (l *limited) code(change func(*tool.Call)) string {
	l.t.Helper()
	out, err := l.call(change)
	var e *tool.Error
	switch {
	case errors.As(err, &e):
		return string(e.Kind) + " " + e.Code
	case err != nil:
		return err.Error()
	}
	if _, pending := out.(*tool.Pending); pending {
		return "pending"
	}
	return "ok"
}

func (l *limited) codesAre(want ...string) {
	l.t.Helper()
	for i, w := range want {
		if got := l.code(nil); got != w {
			l.t.Errorf("call %d: %s, want %s", i+1, got, w)
		}
	}
}

// used is what the run r1 has used.
func (l *limited) usedIs(want map[string]int64) {
	l.t.Helper()
	got, err := l.store.Used(l.t.Context(), tool.ScopedID(tool.PrefixRun, asker, "r1"))
	if err != nil || !maps.Equal(want, got) {
		l.t.Errorf("used %v, %v; want %v", got, err, want)
	}
}

const one = 1_000_000_000 // of what costs are counted in

func TestARunMakesAsManyCallsAsItMayAndAnotherRunItsOwn(t *testing.T) {
	l := newLimited(t, tool.ReadOnly, limit.Policy{MaxCalls: 2}, limit.Tool{})
	l.codesAre("ok", "ok", "budget_exceeded max_calls", "budget_exceeded max_calls")
	if got := l.code(func(c *tool.Call) { c.Run = "r2" }); got != "ok" {
		t.Errorf("another run: %s", got)
	}
	if got := l.code(func(c *tool.Call) { c.Principal.Subject = "bob" }); got != "ok" {
		t.Errorf("another's run of the same key: %s", got)
	}
	l.usedIs(map[string]int64{limit.Calls: 2})
	if l.sent != 4 {
		t.Errorf("%d were sent", l.sent)
	}
}

func TestTheRunOfCallsThatNameNoneIsOne(t *testing.T) {
	l := newLimited(t, tool.ReadOnly, limit.Policy{DefaultRun: 24 * 365 * time.Hour}, limit.Tool{OncePerRun: true})
	nameless := func(c *tool.Call) { c.Run = "" }
	if a, b := l.code(nameless), l.code(nameless); a != "ok" || b != "budget_exceeded once_per_run" {
		t.Errorf("%s, then %s", a, b)
	}
}

func TestOnlyWhatLeavesTheHostIsCounted(t *testing.T) {
	l := newLimited(t, tool.Additive, limit.Policy{MaxCalls: 1, Budget: one}, limit.Tool{Cost: new(limit.Amount(one))})
	out, err := l.call(nil)
	p, ok := out.(*tool.Pending)
	if !ok {
		t.Fatalf("%T, %v", out, err)
	}
	if got := l.code(func(c *tool.Call) { c.Args, _ = tool.ParseArgs([]byte(`{"n":"x"}`)) }); got != "args_invalid invalid_args" {
		t.Error(got)
	}
	if got := l.code(nil); got != "pending" { // asking for more is no call either
		t.Error(got)
	}
	l.usedIs(map[string]int64{})
	if _, err := l.store.Decide(t.Context(), p.Approval, approval.Decision{Approve: true, By: "operator/bob"}); err != nil {
		t.Fatal(err)
	}
	resume := func(c *tool.Call) { c.Run, c.Key = p.Run, p.Call }
	if got := l.code(resume); got != "ok" {
		t.Error(got)
	}
	l.usedIs(map[string]int64{limit.Calls: 1, limit.Cost: one})
	if got := l.code(resume); got != "approval_denied approval_used" {
		t.Error(got)
	}
}

func TestACallThatNamesNoRunStaysInItsRunWhileItIsPending(t *testing.T) {
	l := newLimited(t, tool.Additive, limit.Policy{DefaultRun: 24 * 365 * time.Hour}, limit.Tool{OncePerRun: true})
	for i, want := range []string{"ok", "budget_exceeded once_per_run"} {
		out, err := l.call(func(c *tool.Call) { c.Run = "" })
		p, ok := out.(*tool.Pending)
		if !ok {
			t.Fatalf("%T, %v", out, err)
		}
		if _, err := l.store.Decide(t.Context(), p.Approval, approval.Decision{Approve: true, By: "operator/bob"}); err != nil {
			t.Fatal(err)
		}
		if got := l.code(func(c *tool.Call) { c.Run, c.Key = p.Run, p.Call }); got != want {
			t.Errorf("call %d: %s, want %s", i+1, got, want)
		}
	}
}

func TestWhatWasNotSentIsGivenBackAndWhatMayHaveBeenIsNot(t *testing.T) {
	l := newLimited(t, tool.ReadOnly, limit.Policy{MaxCalls: 3, Budget: 3 * one}, limit.Tool{Cost: new(limit.Amount(one))})
	l.run = func(context.Context, *tool.Attempt) (tool.Outcome, error) {
		return nil, tool.Errorf(tool.AdapterUnavailable, "x", "it is not there")
	}
	l.codesAre("adapter_unavailable x", "adapter_unavailable x", "adapter_unavailable x", "adapter_unavailable x")
	l.usedIs(map[string]int64{limit.Calls: 0, limit.Cost: 0})
	l.run = func(context.Context, *tool.Attempt) (tool.Outcome, error) {
		return nil, &tool.Error{Kind: tool.ToolError, Code: "x", Sent: true, Ran: tool.RanNo} // so it says
	}
	l.codesAre("tool_error x")
	l.run = func(context.Context, *tool.Attempt) (tool.Outcome, error) { panic("in the middle") }
	l.codesAre("tool_failed internal")
	l.usedIs(map[string]int64{limit.Calls: 2, limit.Cost: 2 * one})
}

// withholds is a hook that lets no result out.
type withholds struct{ marker }

func (*withholds) Judge(context.Context, *tool.Case) (tool.Verdict, error) {
	return tool.Passed(""), nil
}

func (*withholds) Apply(context.Context, *tool.Case, *tool.Result) error {
	return tool.Errorf(tool.Denied, "withheld", "withheld")
}

func TestWhatAnAdapterSaysThatACallHasCostIsAddedAlsoIfItsResultIsWithheld(t *testing.T) {
	for name, tc := range map[string]struct {
		hooks []executor.Hook
		codes []string
	}{
		"given":    {nil, []string{"ok", "ok", "budget_exceeded budget"}},
		"withheld": {[]executor.Hook{&withholds{}}, []string{"denied withheld", "denied withheld", "budget_exceeded budget"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLimited(t, tool.ReadOnly, limit.Policy{Budget: 5 * one}, limit.Tool{Cost: new(limit.Amount(one))}, tc.hooks...)
			l.run = func(context.Context, *tool.Attempt) (tool.Outcome, error) { return &tool.Result{Cost: "1.5"}, nil }
			l.codesAre(tc.codes...)
			l.usedIs(map[string]int64{limit.Cost: 5 * one})
			var sum []string
			for r, err := range l.store.Rows(t.Context(), ledger.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Attempt > 0 {
					sum = append(sum, r.Cost)
				}
			}
			if len(sum) != 2 || sum[0] != "2.5" || sum[1] != "2.5" {
				t.Errorf("the ledger has the costs %q", sum)
			}
		})
	}
}

func TestTheRoundsOfOneCallAreOneCall(t *testing.T) {
	l := newLimited(t, tool.ReadOnly, limit.Policy{MaxCalls: 1, Budget: 10 * one}, limit.Tool{OncePerRun: true, Cost: new(limit.Amount(one))})
	l.run = func(_ context.Context, a *tool.Attempt) (tool.Outcome, error) {
		if string(a.State) == "11" {
			return &tool.Result{Cost: "2"}, nil
		}
		return &tool.Question{State: append(a.State, '1'), Requests: map[string]tool.InputRequest{"q": {
			Method: "elicitation/create",
			Params: json.RawMessage(`{"mode":"form","message":"sure?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}`),
		}}}, nil
	}
	var state []byte
	for range 2 {
		out, err := l.call(func(c *tool.Call) { c.State = state })
		q, ok := out.(*tool.Question)
		if !ok {
			t.Fatalf("%T, %v", out, err)
		}
		state = q.State
	}
	last := func(c *tool.Call) { c.State = state }
	if got := l.code(last); got != "ok" {
		t.Errorf("the last round: %s", got)
	}
	l.usedIs(map[string]int64{limit.Calls: 1, limit.Cost: 3 * one, "orders_get": 1})
	if got := l.code(last); got != "approval_denied approval_used" {
		t.Errorf("the last round once more: %s", got)
	}
	l.codesAre("budget_exceeded once_per_run")
}

func TestTooManyCallsAreNotLookedAt(t *testing.T) {
	judged := &counting{}
	l := newLimited(t, tool.ReadOnly, limit.Policy{Admission: limit.Rate{N: 2, Per: time.Hour}}, limit.Tool{}, judged)
	l.codesAre("ok", "ok", "rate_limited admission")
	if got := l.code(func(c *tool.Call) { c.Args, _ = tool.ParseArgs([]byte(`{"n":"x"}`)) }); got != "rate_limited admission" {
		t.Errorf("what cannot be right is looked at: %s", got)
	}
	bad := l.Reject(t.Context(), &tool.Call{Op: tool.OpTool, Name: "orders_get", Principal: asker}, tool.Errorf(tool.ArgsInvalid, "x", "x"))
	if e, ok := errors.AsType[*tool.Error](bad); !ok || e.Kind != tool.RateLimited {
		t.Errorf("what is no JSON: %v", bad)
	}
	if judged.n != 2 {
		t.Errorf("the hook was asked %d times", judged.n)
	}
	if got := l.code(func(c *tool.Call) { c.Principal.Subject = "bob" }); got != "ok" {
		t.Errorf("another principal: %s", got)
	}
}

// counting is a hook that counts what it is asked.
type counting struct {
	marker

	n int
}

func (c *counting) Judge(context.Context, *tool.Case) (tool.Verdict, error) {
	c.n++
	return tool.Passed(""), nil
}

func TestExplainSaysWhatTheLimitsWouldSayAndTakesNothing(t *testing.T) {
	l := newLimited(t, tool.ReadOnly, limit.Policy{MaxCalls: 1, Rate: limit.Rate{N: 5, Per: time.Hour}}, limit.Tool{})
	explain := func() *executor.Explanation {
		args, err := tool.ParseArgs(nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := l.Explain(t.Context(), &tool.Call{Op: tool.OpTool, Name: "orders_get", Args: args, Principal: asker, Run: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for range 9 {
		if e := explain(); e.Verdict != tool.Pass || e.Steps[len(e.Steps)-1] != (executor.Step{
			Gate: "limits", Verdict: tool.Pass, Reason: "within the rates and what the run may use",
		}) {
			t.Fatalf("%+v", e)
		}
	}
	l.codesAre("ok")
	if e := explain(); e.Verdict != tool.Refuse || e.Gate != "limits" || e.Kind != tool.BudgetExceeded || e.Code != "max_calls" {
		t.Errorf("%+v", e)
	}
}

func TestOfManyCallsAtOnceExactlyAsManyRunAsMay(t *testing.T) {
	l := newLimited(t, tool.ReadOnly, limit.Policy{Budget: 20 * one}, limit.Tool{Cost: new(limit.Amount(one)), MaxCalls: 15})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() { _, _ = l.call(nil) })
	}
	wg.Wait()
	if l.sent != 15 {
		t.Errorf("%d were sent, 15 may", l.sent)
	}
	l.usedIs(map[string]int64{"orders_get": 15, limit.Cost: 15 * one})
}
