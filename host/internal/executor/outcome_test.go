// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Every way out of a call that is not an interruption: what the caller is told
// and what the one record says.
func TestEveryWayOutLeavesOneRecordThatSaysHowTheCallEnded(t *testing.T) {
	const (
		wantsID  = `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}`
		givesSum = `{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`
	)
	text := func(s string) *tool.Result { return &tool.Result{Content: []tool.Content{&tool.Text{Text: s}}} }
	structured := func(s string) *tool.Result { return &tool.Result{Structured: json.RawMessage(s)} }
	broken := errors.New("policy store is down")
	failed := tool.Failed("protocol_violation", errors.New("half a result"))
	failed.Sent = true
	said := tool.Errorf(tool.ToolError, "not_found", "there is no order 7")
	said.Sent, said.Ran = true, tool.RanNo

	for name, tc := range map[string]struct {
		setting setting
		args    string // {} if empty
		begin   error
		want    ending
		sent    bool // to the adapter
	}{
		"success": {
			want: ending{Outcome: ledger.OK, Attempt: 1}, sent: true,
		},
		"success with structured content": {
			setting: setting{output: givesSum, run: gives(structured(`{"sum":3}`))},
			want:    ending{Outcome: ledger.OK, Attempt: 1}, sent: true,
		},
		"text that is too long is cut": {
			setting: setting{max: 100, run: gives(text(string(make([]byte, 200))))},
			want:    ending{Outcome: ledger.OK, Attempt: 1}, sent: true,
		},
		"the adapter asks the client, and may not": {
			setting: setting{run: func(context.Context, *tool.Attempt) (tool.Outcome, error) { return &tool.Question{}, nil }},
			want:    ending{Outcome: ledger.Failed, Kind: tool.Denied, Code: "may_not_ask", Attempt: 1}, sent: true,
		},
		"invalid arguments": {
			setting: setting{input: wantsID}, args: `{"id":"seven"}`,
			want: ending{Outcome: ledger.Refused, Gate: "validate", Kind: tool.ArgsInvalid, Code: "invalid_args"},
		},
		"invalid arguments of a lenient tool": {
			setting: setting{input: wantsID, lenient: true}, args: `{"id":"seven"}`,
			want: ending{Outcome: ledger.Refused, Gate: "validate", Kind: tool.ArgsInvalid, Code: "invalid_args"},
		},
		"refused by a gate": {
			setting: setting{gates: []Gate{
				passes("rules"), says("approval", tool.Refused("", tool.Errorf(tool.ApprovalDenied, "approval_required", "no")), nil),
			}},
			want: ending{Outcome: ledger.Refused, Gate: "approval", Kind: tool.ApprovalDenied, Code: "approval_required"},
		},
		"a gate fails": {
			setting: setting{gates: []Gate{says("rules", tool.Verdict{}, broken)}},
			want:    ending{Outcome: ledger.Refused, Gate: "rules", Kind: tool.ToolFailed, Code: "policy"},
		},
		"a gate fails though it passes": {
			setting: setting{gates: []Gate{says("rules", tool.Passed(""), broken)}},
			want:    ending{Outcome: ledger.Refused, Gate: "rules", Kind: tool.ToolFailed, Code: "policy"},
		},
		"a gate gives no decision": {
			setting: setting{gates: []Gate{says("rules", tool.Verdict{}, nil)}},
			want:    ending{Outcome: ledger.Refused, Gate: "rules", Kind: tool.ToolFailed, Code: "policy"},
		},
		"a gate gives a decision that nobody knows": {
			setting: setting{gates: []Gate{says("rules", tool.Verdict{Decision: "perhaps"}, nil)}},
			want:    ending{Outcome: ledger.Refused, Gate: "rules", Kind: tool.ToolFailed, Code: "policy"},
		},
		"a gate refuses without an error": {
			setting: setting{gates: []Gate{says("rules", tool.Verdict{Decision: tool.Refuse}, nil)}},
			want:    ending{Outcome: ledger.Refused, Gate: "rules", Kind: tool.ToolFailed, Code: "policy"},
		},
		"a gate edits the arguments away": {
			setting: setting{gates: []Gate{says("rules", tool.Verdict{Decision: tool.Edit}, nil)}},
			want:    ending{Outcome: ledger.Refused, Gate: "rules", Kind: tool.ToolFailed, Code: "policy"},
		},
		"a gate asks": {
			setting: setting{gates: []Gate{says("rules", tool.Verdict{Decision: tool.Ask, Reason: "line 3"}, nil)}},
			want:    ending{Outcome: ledger.Refused, Gate: "rules", Kind: tool.ApprovalDenied, Code: "approval_required"},
		},
		"the intent cannot be written": {
			begin: errors.New("disk full"),
			want:  ending{Outcome: ledger.Refused, Gate: "begin", Kind: tool.ToolFailed, Code: "journal"},
		},
		"the adapter says an error": {
			setting: setting{run: fails(said)},
			want:    ending{ledger.Failed, "", tool.ToolError, "not_found", tool.RanNo, 1}, sent: true,
		},
		"the adapter's runner panics": {
			setting: setting{run: func(context.Context, *tool.Attempt) (tool.Outcome, error) { panic("asked to") }},
			want:    ending{Outcome: ledger.Failed, Kind: tool.ToolFailed, Code: "internal", Ran: tool.RanUnknown, Attempt: 1}, sent: true,
		},
		"a gate panics": {
			setting: setting{gates: []Gate{gate{"rules", func(*tool.Case) (tool.Verdict, error) { panic("asked to") }}}},
			want:    ending{Outcome: ledger.Refused, Kind: tool.ToolFailed, Code: "internal"},
		},
		"the adapter does not keep to the protocol": {
			setting: setting{run: fails(failed)},
			want:    ending{ledger.Failed, "", tool.ToolFailed, "protocol_violation", tool.RanUnknown, 1}, sent: true,
		},
		"the runner's error is not one of ours": {
			setting: setting{run: func(context.Context, *tool.Attempt) (tool.Outcome, error) { return nil, broken }},
			want:    ending{ledger.Failed, "", tool.ToolFailed, "internal", tool.RanNo, 1}, sent: true,
		},
		"structured content that does not match": {
			setting: setting{output: givesSum, run: gives(structured(`{"sum":"three"}`))},
			want:    ending{ledger.Failed, "", tool.OutputInvalid, "output_invalid", tool.RanYes, 1}, sent: true,
		},
		"structured content that is not there": {
			setting: setting{output: givesSum, run: gives(text("three"))},
			want:    ending{ledger.Failed, "", tool.OutputInvalid, "output_invalid", tool.RanYes, 1}, sent: true,
		},
		"structured content that is too large": {
			setting: setting{max: 10, run: gives(structured(`"0123456789"`))},
			want:    ending{ledger.Failed, "", tool.ResultTooLarge, "result_too_large", tool.RanYes, 1}, sent: true,
		},
		"a picture that is too large": {
			setting: setting{max: 10, run: gives(&tool.Result{Content: []tool.Content{&tool.Blob{Kind: "image", Data: make([]byte, 9)}}})},
			want:    ending{ledger.Failed, "", tool.ResultTooLarge, "result_too_large", tool.RanYes, 1}, sent: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.setting.effects = tool.Additive
			f := newFixture(t, tc.setting)
			f.journal.begin = func(context.Context, Intent) error { return tc.begin }
			if tc.args == "" {
				tc.args = `{}`
			}
			out, err := f.Do(t.Context(), callOf(t, tc.args))

			intents, records := f.journal.taken()
			if len(records) != 1 {
				t.Fatalf("%d records, want one", len(records))
			}
			row := records[0].Row
			if diff := cmp.Diff(tc.want, endingOf(row)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if row.Call == "" || row.Tool != "orders_get" || row.Ended.Before(row.Started) {
				t.Errorf("record %+v", row)
			}
			if got := len(f.runner.sent()); (got == 1) != tc.sent || got > 1 {
				t.Errorf("sent %d times, want %v", got, tc.sent)
			}
			if (len(intents) == 1) != tc.sent {
				t.Errorf("%d intents, though sent is %v", len(intents), tc.sent)
			}
			if tc.sent && intents[0].Call != row.Call {
				t.Error("intent and record are of two calls")
			}
			if records[0].Behind == tc.sent {
				t.Error("what has effects is recorded before it is answered, what was refused may be behind")
			}
			if tc.want.Kind == "" {
				if err != nil || out == nil {
					t.Errorf("the caller got %v, %v", out, err)
				}
				return
			}
			var e *tool.Error
			if !errors.As(err, &e) || out != nil {
				t.Fatalf("the caller got %v, %v", out, err)
			}
			if e.Kind != tc.want.Kind || e.Code != tc.want.Code || e.Ran != tc.want.Ran || e.Text == "" {
				t.Errorf("the caller got %+v", e)
			}
			if !f.slotFree() {
				t.Error("a slot was kept")
			}
		})
	}
}

func TestWhatOperatorsReadIsNotWhatModelsRead(t *testing.T) {
	e := tool.Failed("plugin", errors.New("password=hunter2 refused"))
	e.Sent, e.Detail = true, "at /srv/orders"
	f := newFixture(t, setting{run: fails(e)})
	_, err := f.Do(t.Context(), callOf(t, `{}`))
	var got *tool.Error
	if !errors.As(err, &got) || got.Text != "tool_failed: plugin" {
		t.Errorf("text %q", got.Text)
	}
	if r := f.record(t); r.Detail != "at /srv/orders: password=hunter2 refused" {
		t.Errorf("detail %q", r.Detail)
	}
}

func TestTheDetailOfARecordIsBounded(t *testing.T) {
	for _, e := range []*tool.Error{
		{Kind: tool.ToolFailed, Detail: string(make([]byte, 100_000))},
		{Kind: tool.ToolFailed, Err: errors.New(string(make([]byte, 100_000)))},
	} {
		f := newFixture(t, setting{run: fails(e)})
		_, _ = f.Do(t.Context(), callOf(t, `{}`))
		if r := f.record(t); len(r.Detail) != 4096 {
			t.Errorf("detail of %d bytes", len(r.Detail))
		}
	}
}

func TestAFailureToRecordDoesNotTakeTheResultAway(t *testing.T) {
	f := newFixture(t, setting{effects: tool.Additive})
	f.journal.end = func(context.Context, Record) error { return errors.New("disk full") }
	out, err := f.Do(t.Context(), callOf(t, `{}`))
	if err != nil || out == nil {
		t.Errorf("the caller got %v, %v", out, err)
	}
}

func TestACallThatAFaceRefusesAtTheDoorIsRecorded(t *testing.T) {
	f := newFixture(t, setting{effects: tool.Additive})
	call := callOf(t, `{}`)
	call.Args = tool.JSON{}
	refused := tool.Errorf(tool.ArgsInvalid, "invalid_args", "duplicate key")
	if err := f.Reject(t.Context(), call, refused); !errors.Is(err, refused) {
		t.Errorf("the caller got %v", err)
	}
	intents, records := f.journal.taken()
	if len(intents) != 0 || len(records) != 1 {
		t.Fatalf("%d intents, %d records", len(intents), len(records))
	}
	want := ending{Outcome: ledger.Refused, Gate: "door", Kind: tool.ArgsInvalid, Code: "invalid_args"}
	if diff := cmp.Diff(want, endingOf(records[0].Row)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
