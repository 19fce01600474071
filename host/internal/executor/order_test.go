// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestACallGoesThroughGatesSlotBeginAdapterFiltersAndEndInThisOrder(t *testing.T) {
	var f *fixture
	var log []string
	note := func(what string) { log = append(log, fmt.Sprintf("%s, slot free: %v", what, f.slotFree())) }
	noting := func(name string) gate {
		return gate{name, func(*tool.Case) (tool.Verdict, error) {
			note(name)
			return tool.Passed(""), nil
		}}
	}
	f = newFixture(t, setting{
		gates: []Gate{noting("rules"), noting("approval")}, max: 6, limits: registry.Limits{MaxInFlight: 1},
		run: func(context.Context, *tool.Attempt) (tool.Outcome, error) {
			note("adapter")
			return &tool.Result{Content: []tool.Content{&tool.Text{Text: "longer than six"}}}, nil
		},
	})
	f.journal.begin = func(context.Context, Intent) error {
		note("begin")
		return nil
	}
	f.journal.end = func(_ context.Context, r Record) error {
		note(fmt.Sprintf("end, result of %d bytes", r.ResultBytes)) // so the filters have been there
		return nil
	}
	if _, err := f.Do(t.Context(), callOf(t, `{}`)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"rules, slot free: true",
		"approval, slot free: true",
		"begin, slot free: false",
		"adapter, slot free: false",
		"end, result of 6 bytes, slot free: true",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestArgumentsAreValidatedBeforeAnyGateSeesThem(t *testing.T) {
	f := newFixture(t, setting{
		input: `{"type":"object","required":["id"]}`,
		gates: []Gate{gate{"rules", func(*tool.Case) (tool.Verdict, error) {
			t.Error("a gate saw invalid arguments")
			return tool.Passed(""), nil
		}}},
	})
	if _, err := f.Do(t.Context(), callOf(t, `{}`)); err == nil {
		t.Error("invalid arguments were taken")
	}
}

func TestTheFirstGateThatDoesNotPassEndsTheCall(t *testing.T) {
	f := newFixture(t, setting{gates: []Gate{
		passes("rules"),
		says("approval", tool.Refused("", tool.Errorf(tool.ApprovalDenied, "no", "no")), nil),
		gate{"limits", func(*tool.Case) (tool.Verdict, error) {
			t.Error("a later gate was asked")
			return tool.Passed(""), nil
		}},
	}})
	if _, err := f.Do(t.Context(), callOf(t, `{}`)); err == nil {
		t.Error("the call went on")
	}
}

func TestAnUnknownToolIsNoCallAndLeavesNoRecord(t *testing.T) {
	f := newFixture(t, setting{})
	call := callOf(t, `{}`)
	call.Name = "orders_drop"
	want := `unknown tool "orders_drop"`
	var unknown *UnknownError
	if _, err := f.Do(t.Context(), call); !errors.As(err, &unknown) || err.Error() != want {
		t.Errorf("Do: %v", err)
	}
	if err := f.Reject(t.Context(), call, tool.Errorf(tool.ArgsInvalid, "", "")); !errors.As(err, &unknown) {
		t.Errorf("Reject: %v", err)
	}
	if _, err := f.Explain(t.Context(), call); !errors.As(err, &unknown) {
		t.Errorf("Explain: %v", err)
	}
	if in, rec := f.journal.taken(); len(in)+len(rec) != 0 {
		t.Errorf("recorded %v %v", in, rec)
	}
}

func TestACallByAliasIsRecordedByItsPublicName(t *testing.T) {
	f := newFixture(t, setting{effects: tool.Additive})
	call := callOf(t, `{}`)
	call.Name = "orders.get"
	if _, err := f.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if r := f.record(t); r.Tool != "orders_get" {
		t.Errorf("recorded as %s", r.Tool)
	}
}

func TestWhatTheAdapterGetsAndWhatTheLedgerSaysAreOfTheSameCall(t *testing.T) {
	f := newFixture(t, setting{effects: tool.Additive})
	call := callOf(t, `{"id": 9007199254740993.0}`)
	call.Client.Name = "desk"
	before := time.Now()
	if _, err := f.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	intents, records := f.journal.taken()
	if len(intents) != 1 || len(records) != 1 {
		t.Fatalf("%d intents, %d records", len(intents), len(records))
	}
	a, row := f.runner.sent()[0], records[0].Row
	if a.ID != row.Call || !tool.IsID(tool.PrefixCall, a.ID) || a.RunID != row.Run || !tool.IsID(tool.PrefixRun, a.RunID) {
		t.Errorf("the adapter has call %s of run %s, the ledger %s of %s", a.ID, a.RunID, row.Call, row.Run)
	}
	if a.N != 1 || a.Spec.Declared != "get" || !a.Principal.Is(caller) {
		t.Errorf("attempt %+v", a)
	}
	if got := string(a.Args.Bytes()); got != `{"id": 9007199254740993.0}` {
		t.Errorf("arguments arrive as %s", got)
	}
	if row.Started.Before(before) || row.Ended.Before(row.Started) {
		t.Errorf("started %v, ended %v", row.Started, row.Ended)
	}
	want := ledger.Row{
		Host: "host_1", Started: row.Started, Ended: row.Ended, Call: a.ID, Run: a.RunID, Attempt: 1,
		Principal: "stdio/local/ann", Op: tool.OpTool, Tool: "orders_get", Adapter: "orders", Effects: tool.Additive,
		Spec: a.Spec.Digest, Args: f.keyed(call.Args), Outcome: ledger.OK, ResultBytes: 4,
		Client: "desk", Protocol: "2026-07-28",
	}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	want.Ended, want.Attempt, want.Outcome, want.ResultBytes = time.Time{}, 0, "", 0
	if diff := cmp.Diff(want, intents[0].Row); diff != "" {
		t.Errorf("intent (-want +got):\n%s", diff)
	}
}

func TestRunsOfTwoPrincipalsAreTwoThoughTheyChoseTheSameKey(t *testing.T) {
	f := newFixture(t, setting{})
	runs := map[string]bool{}
	for _, who := range []string{"ann", "bob", "ann"} {
		call := callOf(t, `{}`)
		call.Principal.Subject = who
		if _, err := f.Do(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		runs[f.record(t).Run] = true
	}
	if len(runs) != 2 {
		t.Errorf("%d runs, want 2", len(runs))
	}
}

func TestOnlyWhatHasEffectsIsBegunDurablyAndEndedBeforeTheAnswer(t *testing.T) {
	for effects, durable := range map[tool.Effects]bool{
		tool.ReadOnly: false, tool.Additive: true, tool.Destructive: true, tool.EffectsUnset: true, "of a later version": true,
	} {
		t.Run(string(effects), func(t *testing.T) {
			f := newFixture(t, setting{effects: effects})
			if _, err := f.Do(t.Context(), callOf(t, `{}`)); err != nil {
				t.Fatal(err)
			}
			intents, records := f.journal.taken()
			if len(intents) != 1 || intents[0].Durable != durable {
				t.Errorf("intents %+v", intents)
			}
			if len(records) != 1 || records[0].Behind == durable {
				t.Errorf("records %+v", records)
			}
		})
	}
}

func TestARunnerIsHeldUntilTheCallIsRecorded(t *testing.T) {
	f := newFixture(t, setting{})
	var free <-chan struct{}
	held := func() bool {
		select {
		case <-free:
			return false
		default:
			return true
		}
	}
	f.runner.run = func(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
		var err error
		if free, err = f.Registry.Replace("orders", nil, nil); err != nil {
			t.Error(err)
		}
		return gives(done)(ctx, a)
	}
	f.journal.end = func(context.Context, Record) error {
		if !held() {
			t.Error("the runner may be drained while the call is not over")
		}
		return nil
	}
	if _, err := f.Do(t.Context(), callOf(t, `{}`)); err != nil {
		t.Fatal(err)
	}
	if held() {
		t.Error("the runner is held though the call is over")
	}
}
