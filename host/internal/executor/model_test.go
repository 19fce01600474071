// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// wharf is two hosts on one store.
type wharf struct {
	t      *rapid.T
	path   string
	hosts  [2]*executor.Executor
	stores [2]*sqlite.Store
	regs   [2]*registry.Registry
	// origin of the adapter's program on each host, and what the rules of each
	// say of its tool; empty: nothing.
	origin [2]byte
	rule   [2]rules.Verb
	// crashAt is where the next call of a host crashes.
	crashAt [2]executor.Point
	// ran counts, by call id, how often the adapter ran with which arguments.
	ran map[string][]string
	// calls are the pending results so far, by approval.
	calls map[string]*parkedCall
	order []string
}

type parkedCall struct {
	tool.Pending

	args string
	// origin at the time of asking.
	origin byte
	// decision so far; edited are the arguments that were approved instead.
	approved, denied bool
	edited           string
}

var asker = tool.Principal{Kind: tool.Stdio, Subject: "ann"}

func (w *wharf) open(i int) {
	store, err := sqlite.Open(context.Background(), w.path, sqlite.Options{Lease: time.Minute})
	if err != nil {
		w.t.Fatal(err)
	}
	w.stores[i], w.regs[i] = store, registry.New()
	w.offer(i)
	w.hosts[i] = executor.New(executor.Config{
		Registry: w.regs[i], Gates: []executor.Gate{gate{w, i}, approval.Gate{Asks: true}},
		Journal: store, Approvals: store,
		Asking: executor.Asking{Deferred: true, Expires: time.Hour, Quota: approval.Quota{PerPrincipal: 100}},
		Reached: func(p executor.Point) {
			if p == w.crashAt[i] {
				w.crashAt[i] = ""
				runtime.Goexit()
			}
		},
		Keyer: ledger.NewKeyer(make([]byte, 32)), MaxResult: 1 << 20, Host: store.Host(), Log: slog.New(slog.DiscardHandler),
	})
}

// gate is the rules of one host, which change.
type gate struct {
	w *wharf
	i int
}

func (gate) Name() string { return "rules" }

func (g gate) Judge(ctx context.Context, c *tool.Case) (tool.Verdict, error) {
	var list []rules.Rule
	if verb := g.w.rule[g.i]; verb != "" {
		list = []rules.Rule{{Verb: verb, Names: []string{"*"}}}
	}
	r, err := rules.New(list, rules.Defaults{})
	if err != nil {
		return tool.Verdict{}, err
	}
	return r.Judge(ctx, c)
}

// offer moors the tool as it is on a host now.
func (w *wharf) offer(i int) {
	input, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`), schema.Input)
	if err != nil {
		w.t.Fatal(err)
	}
	o := &registry.Offer{
		Spec:  tool.Spec{Name: "orders_add", Adapter: "orders", Declared: "add", Effects: tool.Additive},
		Input: input, Origin: tool.Digest{w.origin[i]},
	}
	o.Spec.Seal()
	if _, err := w.regs[i].Replace("orders", runner{w}, []*registry.Offer{o}); err != nil {
		w.t.Fatal(err)
	}
}

// runner counts.
type runner struct{ w *wharf }

func (r runner) Run(_ context.Context, a *tool.Attempt) (tool.Outcome, error) {
	r.w.ran[a.ID] = append(r.w.ran[a.ID], string(a.Args.Bytes()))
	return &tool.Result{Content: []tool.Content{&tool.Text{Text: "added"}}}, nil
}

// do calls on a host, which may crash in the middle.
func (w *wharf) do(i int, args, run, key string) (out tool.Outcome, crashed bool, err error) {
	parsed, perr := tool.ParseArgs([]byte(args))
	if perr != nil {
		w.t.Fatal(perr)
	}
	crashed = true
	over := make(chan struct{})
	go func() {
		defer close(over)
		out, err = w.hosts[i].Do(context.Background(), &tool.Call{
			Op: tool.OpTool, Name: "orders_add", Args: parsed, Principal: asker, Run: run, Key: key, Resumable: true,
		})
		crashed = false
	}()
	<-over
	return out, crashed, err
}

// parked picks one of the calls that were parked.
func (w *wharf) parked(t *rapid.T) *parkedCall {
	if len(w.order) == 0 {
		t.Skip("none is pending")
	}
	return w.calls[rapid.SampledFrom(w.order).Draw(t, "call")]
}

func host(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "host") }

func (w *wharf) ask(t *rapid.T) {
	i, args := host(t), fmt.Sprintf(`{"n":%d}`, rapid.IntRange(1, 3).Draw(t, "n"))
	out, crashed, err := w.do(i, args, "", "")
	if crashed {
		return
	}
	switch w.rule[i] {
	case rules.Deny:
		if err == nil {
			t.Fatalf("a denied call gave %T", out)
		}
		return
	case rules.Allow:
		if _, ran := out.(*tool.Result); !ran || err != nil {
			t.Fatalf("an allowed call gave %T, %v", out, err)
		}
		return
	case rules.Confirm:
	}
	p, ok := out.(*tool.Pending)
	if !ok || err != nil {
		t.Fatalf("asked: %T, %v", out, err)
	}
	w.calls[p.Approval] = &parkedCall{Pending: *p, args: args, origin: w.origin[i]}
	w.order = append(w.order, p.Approval)
}

func (w *wharf) decide(t *rapid.T) {
	c := w.parked(t)
	d := approval.Decision{Approve: rapid.Bool().Draw(t, "approve"), By: "operator/bob"}
	if d.Approve && rapid.Bool().Draw(t, "edit") {
		d.Edited = []byte(`{"n":77}`)
	}
	_, err := w.stores[host(t)].Decide(context.Background(), c.Approval, d)
	var status *approval.StatusError
	if decided := c.approved || c.denied; decided != errors.As(err, &status) {
		t.Fatalf("decided before: %v; now: %v", decided, err)
	}
	if err == nil {
		c.approved, c.denied, c.edited = d.Approve, !d.Approve, string(d.Edited)
	}
}

func (w *wharf) resume(t *rapid.T) {
	i, c := host(t), w.parked(t)
	args := c.args
	if rapid.IntRange(0, 4).Draw(t, "other arguments") == 0 {
		args = `{"n":4}`
	}
	spelled := rapid.SampledFrom([]string{args, args[:5] + " " + args[5:len(args)-1] + ".0}"}).Draw(t, "spelling")
	before := w.count(c)
	out, crashed, err := w.do(i, spelled, c.Run, c.Call)
	ran := w.count(c) - before
	mayRun := c.approved && args == c.args && w.rule[i] != rules.Deny && c.origin == w.origin[i] && before == 0
	switch {
	case ran > 1 || ran == 1 && !mayRun:
		t.Fatalf("ran %d times, %+v, on a host with origin %d, rule %q", ran, c, w.origin[i], w.rule[i])
	case crashed:
	case ran == 1 && err != nil:
		t.Fatalf("it ran, and the caller is told %v", err)
	case ran == 0 && err == nil && out != nil:
		if _, pending := out.(*tool.Pending); !pending {
			t.Fatalf("it did not run, and the caller is told %T", out)
		}
	}
}

// count is how often the call has run.
func (w *wharf) count(c *parkedCall) int {
	return len(w.ran[tool.ScopedID(tool.PrefixCall, asker, c.Call)])
}

func (w *wharf) change(t *rapid.T) {
	i := host(t)
	if rapid.Bool().Draw(t, "rules") {
		w.rule[i] = rapid.SampledFrom([]rules.Verb{"", rules.Deny, rules.Allow, rules.Confirm}).Draw(t, "rule")
		return
	}
	w.origin[i] = byte(rapid.IntRange(0, 1).Draw(t, "origin"))
	w.offer(i)
}

func (w *wharf) arm(t *rapid.T) {
	w.crashAt[host(t)] = rapid.SampledFrom([]executor.Point{
		executor.Asked, executor.Judged, executor.Begun, executor.Sent, executor.Ended,
	}).Draw(t, "point")
}

func (w *wharf) restart(t *rapid.T) {
	i := host(t)
	if err := w.stores[i].Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.open(i)
}

// check is what holds whatever happened.
func (w *wharf) check(t *rapid.T) {
	for _, c := range w.calls {
		runs := w.ran[tool.ScopedID(tool.PrefixCall, asker, c.Call)]
		want := c.args
		if c.edited != "" {
			want = c.edited
		}
		switch {
		case len(runs) > 1:
			t.Fatalf("one approval, %d runs", len(runs))
		case len(runs) == 1 && (!c.approved || runs[0] != want):
			t.Fatalf("ran %s, approved %v: %s", runs[0], c.approved, want)
		}
		r, err := w.stores[0].Approval(context.Background(), c.Approval)
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == 1 && r.Status != approval.Used {
			t.Fatalf("it ran, and its approval is %s", r.Status)
		}
	}
}

func TestAnApprovedCallRunsAtMostOnceWhateverHappensBetweenAskingAndRunning(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		w := &wharf{
			t: t, path: filepath.Join(dir, fmt.Sprintf("%d.db", n)),
			ran: map[string][]string{}, calls: map[string]*parkedCall{},
		}
		w.open(0)
		w.open(1)
		defer func() {
			for _, s := range w.stores {
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"ask": w.ask, "decide": w.decide, "resume": w.resume, "change": w.change, "arm": w.arm, "restart": w.restart,
			"": w.check,
		})
	})
}
