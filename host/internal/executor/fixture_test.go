// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host/internal/kept"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal records what it is told.
type journal struct {
	begin func(context.Context, Intent) error // nil: no error
	end   func(context.Context, Record) error

	mu      sync.Mutex
	intents []Intent
	records []Record
}

func (j *journal) Begin(ctx context.Context, in Intent) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.begin != nil {
		if err := j.begin(ctx, in); err != nil {
			return err
		}
	}
	j.intents = append(j.intents, in)
	return nil
}

func (j *journal) End(ctx context.Context, r Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
	if j.end != nil {
		return j.end(ctx, r)
	}
	return nil
}

// taken returns what was recorded since, and forgets it.
func (j *journal) taken() ([]Intent, []Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	in, rec := j.intents, j.records
	j.intents, j.records = nil, nil
	return in, rec
}

// runner runs run, and keeps the attempts.
type runner struct {
	run func(context.Context, *tool.Attempt) (tool.Outcome, error)

	mu       sync.Mutex
	attempts []*tool.Attempt
}

func (r *runner) Run(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
	r.mu.Lock()
	r.attempts = append(r.attempts, a)
	r.mu.Unlock()
	return r.run(ctx, a)
}

func (r *runner) sent() []*tool.Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.attempts)
}

func gives(r *tool.Result) func(context.Context, *tool.Attempt) (tool.Outcome, error) {
	return func(context.Context, *tool.Attempt) (tool.Outcome, error) {
		given := *r
		given.Content = slices.Clone(r.Content)
		return &given, nil
	}
}

func fails(e *tool.Error) func(context.Context, *tool.Attempt) (tool.Outcome, error) {
	return func(context.Context, *tool.Attempt) (tool.Outcome, error) { return nil, e }
}

// heedsContext is an adapter that works until ctx ends.
func heedsContext(ctx context.Context, _ *tool.Attempt) (tool.Outcome, error) {
	<-ctx.Done()
	e := tool.Interrupted(ctx, "adapter orders was at work")
	e.Sent = true
	return nil, e
}

// gate is a gate of one function.
type gate struct {
	name  string
	judge func(*tool.Case) (tool.Verdict, error)
}

func (g gate) Name() string { return g.name }

func (g gate) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) { return g.judge(c) }

func says(name string, v tool.Verdict, err error) gate {
	return gate{name, func(*tool.Case) (tool.Verdict, error) { return v, err }}
}

func passes(name string) gate { return says(name, tool.Passed("nothing against it"), nil) }

// fixture is an executor with one tool, orders_get, of the adapter orders.
type fixture struct {
	*Executor

	journal *journal
	runner  *runner
}

// setting of a fixture.
type setting struct {
	effects tool.Effects
	lenient bool
	// input and output are schemas; without input any object will do.
	input, output string
	needs         string // of the client
	limits        registry.Limits
	gates         []Gate
	max           int
	kept          *kept.Store
	run           func(context.Context, *tool.Attempt) (tool.Outcome, error)
}

var done = &tool.Result{Content: []tool.Content{&tool.Text{Text: "done"}}}

func newFixture(t testing.TB, s setting) *fixture {
	t.Helper()
	if s.input == "" {
		s.input = `{"type":"object"}`
	}
	if s.run == nil {
		s.run = gives(done)
	}
	o := &registry.Offer{
		Spec: tool.Spec{
			Name: "orders_get", Adapter: "orders", Declared: "get", Effects: s.effects, Lenient: s.lenient, Needs: json.RawMessage(s.needs),
			Input: json.RawMessage(s.input), Output: json.RawMessage(s.output),
		},
		Alias: "orders.get", Limits: s.limits, Input: compiled(t, s.input, schema.Input),
	}
	o.Spec.Seal()
	if s.output != "" {
		o.Output = compiled(t, s.output, schema.Output)
	}
	f := &fixture{journal: &journal{}, runner: &runner{run: s.run}}
	r := registry.New()
	if _, err := r.Replace("orders", f.runner, []*registry.Offer{o}); err != nil {
		t.Fatal(err)
	}
	f.Executor = New(Config{
		Keyer: ledger.NewKeyer([]byte("key")), Registry: r, Gates: s.gates, Journal: f.journal, MaxResult: s.max, Kept: s.kept, Host: "host_1", Log: slog.New(slog.DiscardHandler),
	})
	return f
}

func compiled(t testing.TB, raw string, kind schema.Kind) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(raw), kind)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parsed(t testing.TB, raw string) tool.JSON {
	t.Helper()
	j, err := tool.ParseArgs([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// caller is who calls in these tests.
var caller = tool.Principal{Kind: tool.Stdio, Subject: "ann"}

func callOf(t testing.TB, args string) *tool.Call {
	t.Helper()
	return &tool.Call{
		Op: tool.OpTool, Name: "orders_get", Args: parsed(t, args), Principal: caller, Run: "r1",
		Client: tool.Client{Name: "desk", Protocol: "2026-07-28"},
	}
}

// record is the one record that a call has left.
func (f *fixture) record(t testing.TB) Record {
	t.Helper()
	_, records := f.journal.taken()
	if len(records) != 1 {
		t.Fatalf("%d records, want one: %+v", len(records), records)
	}
	return records[0]
}

// ending is how a row says that its call ended.
type ending struct {
	Outcome ledger.Outcome
	Gate    string
	Kind    tool.Kind
	Code    string
	Ran     tool.Ran
	Attempt int
}

func endingOf(r ledger.Row) ending {
	return ending{r.Outcome, r.Gate, r.Kind, r.Code, r.Ran, r.Attempt}
}

// slotFree reports whether one more slot of an adapter with one slot is free.
func (f *fixture) slotFree() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	release, err := f.slots.Acquire(ctx, "orders", "nobody", 1)
	if err != nil {
		return false
	}
	release()
	return true
}
