// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func edits(t *testing.T, name, from, to string) gate {
	return gate{name, func(c *tool.Case) (tool.Verdict, error) {
		if got := string(c.Args.Bytes()); got != from {
			t.Errorf("gate %s saw %s, want %s", name, got, from)
		}
		return tool.Verdict{Decision: tool.Edit, Reason: "because", Args: parsed(t, to)}, nil
	}}
}

func TestWhatAnEditMakesOfTheArgumentsIsWhatIsJudgedRunsAndIsRecorded(t *testing.T) {
	f := newFixture(t, setting{effects: tool.Additive, gates: []Gate{
		edits(t, "hook", `{"n":1}`, `{"n":2}`), edits(t, "rules", `{"n":2}`, `{"n":3}`),
		gate{"approval", func(c *tool.Case) (tool.Verdict, error) {
			if got := string(c.Args.Bytes()); got != `{"n":3}` {
				t.Errorf("approval saw %s", got)
			}
			return tool.Passed(""), nil
		}},
	}})
	call := callOf(t, `{"n":1}`)
	if _, err := f.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	a := f.runner.sent()[0]
	if got := string(a.Args.Bytes()); got != `{"n":3}` {
		t.Errorf("%s ran", got)
	}
	if got := string(a.Call.Args.Bytes()); got != `{"n":1}` || call.Args.Digest() != parsed(t, `{"n":1}`).Digest() {
		t.Errorf("the call itself has changed to %s", got)
	}
	intents, records := f.journal.taken()
	want := f.keyed(parsed(t, `{"n":3}`))
	if intents[0].Durable && intents[0].Args != want || records[0].Args != want {
		t.Error("what is recorded is not what ran")
	}
}

func TestALenientToolRunsWithCoercedArguments(t *testing.T) {
	f := newFixture(t, setting{lenient: true, input: `{"type":"object","properties":{"id":{"type":"integer"}}}`})
	if _, err := f.Do(t.Context(), callOf(t, `{"id":"9007199254740993"}`)); err != nil {
		t.Fatal(err)
	}
	if got := string(f.runner.sent()[0].Args.Bytes()); got != `{"id":9007199254740993}` {
		t.Errorf("%s ran", got)
	}
	if got := f.record(t).Args; got != f.keyed(parsed(t, `{"id":9007199254740993}`)) {
		t.Error("what is recorded is not what ran")
	}
}

func TestAStrictToolGetsNothingCoerced(t *testing.T) {
	f := newFixture(t, setting{input: `{"type":"object","properties":{"id":{"type":"integer"}}}`})
	if _, err := f.Do(t.Context(), callOf(t, `{"id":"7"}`)); err == nil {
		t.Error("it ran")
	}
}

func TestExplainGivesTheVerdictsOfDoAndSendsAndRecordsNothing(t *testing.T) {
	refused := tool.Refused("line 3 of the rules", tool.Errorf(tool.Denied, "denied", "not for you"))
	for name, tc := range map[string]struct {
		setting setting
		want    *Explanation
	}{
		"a call that would run": {
			setting{effects: tool.ReadOnly, gates: []Gate{passes("rules"), passes("approval")}},
			&Explanation{
				Tool: "orders_get", Adapter: "orders", Effects: tool.ReadOnly, Verdict: tool.Pass,
				Steps: []Step{
					{Gate: "validate", Verdict: tool.Pass, Reason: "the arguments match the tool's input schema"},
					{Gate: "rules", Verdict: tool.Pass, Reason: "nothing against it"},
					{Gate: "approval", Verdict: tool.Pass, Reason: "nothing against it"},
					{Gate: "limits", Verdict: tool.Pass, Reason: "nothing limits it"},
				},
			},
		},
		"a call that would be refused": {
			setting{gates: []Gate{says("rules", refused, nil), passes("approval")}},
			&Explanation{
				Tool: "orders_get", Adapter: "orders", Effects: tool.Destructive, Verdict: tool.Refuse,
				Gate: "rules", Kind: tool.Denied, Code: "denied", Text: "not for you",
				Steps: []Step{
					{Gate: "validate", Verdict: tool.Pass, Reason: "the arguments match the tool's input schema"},
					{Gate: "rules", Verdict: tool.Refuse, Reason: "line 3 of the rules"},
				},
			},
		},
		"invalid arguments": {
			setting{input: `{"type":"object","additionalProperties":false}`, effects: tool.Additive},
			&Explanation{
				Tool: "orders_get", Adapter: "orders", Effects: tool.Additive, Verdict: tool.Refuse,
				Gate: "validate", Kind: tool.ArgsInvalid, Code: "invalid_args",
				Steps: []Step{{Gate: "validate", Verdict: tool.Refuse, Reason: "the arguments do not match the tool's input schema"}},
			},
		},
		"edited arguments": {
			setting{effects: tool.ReadOnly, gates: []Gate{edits(t, "hook", `{"n":1}`, `{"n":2}`), passes("rules")}},
			&Explanation{
				Tool: "orders_get", Adapter: "orders", Effects: tool.ReadOnly, Verdict: tool.Pass,
				Steps: []Step{
					{Gate: "validate", Verdict: tool.Pass, Reason: "the arguments match the tool's input schema"},
					{Gate: "hook", Verdict: tool.Edit, Reason: "because"},
					{Gate: "rules", Verdict: tool.Pass, Reason: "nothing against it"},
					{Gate: "limits", Verdict: tool.Pass, Reason: "nothing limits it"},
				},
			},
		},
		"a gate that asks": {
			setting{gates: []Gate{says("rules", tool.Verdict{Decision: tool.Ask, Reason: "line 4"}, nil)}},
			&Explanation{
				Tool: "orders_get", Adapter: "orders", Effects: tool.Destructive, Verdict: tool.Ask,
				Gate: "rules", Kind: tool.ApprovalPending, Text: "line 4",
				Steps: []Step{{Gate: "validate", Verdict: tool.Pass, Reason: "the arguments match the tool's input schema"}, {Gate: "rules", Verdict: tool.Ask, Reason: "line 4"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tc.setting)
			got, err := f.Explain(t.Context(), callOf(t, `{"n":1}`))
			if err != nil {
				t.Fatal(err)
			}
			if intents, records := f.journal.taken(); len(intents)+len(records)+len(f.runner.sent()) != 0 {
				t.Error("it was sent or recorded")
			}
			if tc.want.Gate == "validate" { // whose text is package schema's
				if got.Text == "" {
					t.Error("without a text")
				}
				got.Text = ""
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			if got.Verdict == tool.Ask {
				return // what becomes of it is for whom there is to ask
			}
			_, err = f.Do(t.Context(), callOf(t, `{"n":1}`))
			if (err != nil) != (got.Verdict == tool.Refuse) {
				t.Errorf("explained as %s, but run it gives %v", got.Verdict, err)
			}
			if row := f.record(t).Row; row.Gate != got.Gate || row.Kind != got.Kind || (row.Outcome == ledger.OK) != (got.Verdict == tool.Pass) {
				t.Errorf("explained %+v, recorded %+v", got, row)
			}
		})
	}
}
