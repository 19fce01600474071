// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// watchman is a hook of two functions.
type watchman struct {
	gate

	apply func(*tool.Result) error
}

func (watchman) Origin() string { return "scanner" }

func (w watchman) Apply(_ context.Context, _ *tool.Case, r *tool.Result) error {
	if w.apply == nil {
		return nil
	}
	return w.apply(r)
}

func TestWhatAHookEditsIsWhatIsValidatedJudgedAndRun(t *testing.T) {
	f := newFixture(t, setting{input: `{"type":"object","properties":{"n":{"const":2}}}`, gates: []Gate{edits(t, "rules", `{"n":2}`, `{"n":2}`)}})
	f.SetPolicy(&Policy{Gates: f.Gates, Hooks: []Hook{watchman{gate: edits(t, "hook:scanner", `{"n":1}`, `{"n":2}`)}}})
	if _, err := f.Do(t.Context(), callOf(t, `{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	if got := string(f.runner.sent()[0].Args.Bytes()); got != `{"n":2}` {
		t.Errorf("%s ran", got)
	}
	if r := f.record(t); r.Args != f.keyed(parsed(t, `{"n":2}`)) || r.Asked != f.keyed(parsed(t, `{"n":1}`)) {
		t.Errorf("recorded %+v", r.Row)
	}
}

func TestAHookRefusesBeforeAndAfter(t *testing.T) {
	no := func() *tool.Error { return tool.Errorf(tool.Denied, "secret_found", "no") } // each call's own: it is written to
	for name, c := range map[string]struct {
		hook    watchman
		outcome ledger.Outcome
		ran     tool.Ran
		gate    string
		sent    int
	}{
		"before": {watchman{gate: says("hook:scanner", tool.Refused("a secret", no()), nil)}, ledger.Refused, tool.RanUnset, "hook:scanner", 0},
		"after":  {watchman{gate: passes("hook:scanner"), apply: func(*tool.Result) error { return no() }}, ledger.Failed, tool.RanYes, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, setting{effects: tool.Additive})
			f.SetPolicy(&Policy{Hooks: []Hook{c.hook}})
			_, err := f.Do(t.Context(), callOf(t, `{}`))
			if e := tool.AsError(err); e == nil || e.Code != "secret_found" || e.Ran != c.ran {
				t.Errorf("ended with %+v", e)
			}
			if n := len(f.runner.sent()); n != c.sent {
				t.Errorf("sent %d times", n)
			}
			if r := f.record(t); r.Outcome != c.outcome || r.Gate != c.gate || r.Kind != tool.Denied {
				t.Errorf("recorded %+v", r.Row)
			}
		})
	}
}

func TestAHookCannotAskInTheRulesStead(t *testing.T) {
	f := newFixture(t, setting{})
	f.SetPolicy(&Policy{Hooks: []Hook{watchman{gate: says("hook:scanner", tool.Verdict{Decision: tool.Ask}, nil)}}})
	if _, err := f.Do(t.Context(), callOf(t, `{}`)); tool.AsError(err) == nil || len(f.runner.sent()) != 0 {
		t.Errorf("ended with %v", err)
	}
}

func TestExplainAsksTheHooksToo(t *testing.T) {
	f := newFixture(t, setting{})
	f.SetPolicy(&Policy{Hooks: []Hook{watchman{gate: says("hook:scanner", tool.Refused("a secret", tool.Errorf(tool.Denied, "x", "no")), nil)}}})
	e, err := f.Explain(t.Context(), callOf(t, `{}`))
	if err != nil || e.Verdict != tool.Refuse || e.Gate != "hook:scanner" || e.Steps[0].Reason != "a secret" {
		t.Errorf("%+v, %v", e, err)
	}
}
