// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/kept"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const large = `{"rows":["one","two","three"]}`

// newLarge is a fixture whose tool gives more than the host does.
func newLarge(t *testing.T, s setting) *fixture {
	t.Helper()
	store := kept.New(kept.Bounds{Each: 1000, Principal: 1000, All: 1000, For: time.Minute})
	t.Cleanup(store.Close)
	s.max, s.kept = 10, store
	if s.run == nil {
		s.run = gives(&tool.Result{Structured: json.RawMessage(large)})
	}
	return newFixture(t, s)
}

// tooLarge calls the tool and returns the URI of its result.
func (f *fixture) tooLarge(t *testing.T) string {
	t.Helper()
	_, err := f.Do(t.Context(), callOf(t, `{}`))
	e := tool.AsError(err)
	if e == nil || e.Kind != tool.ResultTooLarge || e.Link == nil {
		t.Fatalf("%v", err)
	}
	return e.Link.URI
}

func reading(t *testing.T, who tool.Principal, uri string) *tool.Call {
	t.Helper()
	c := callOf(t, `{}`)
	c.Op, c.Name, c.Principal = tool.OpResource, uri, who
	return c
}

func TestAResultThatIsTooLargeIsReadByWhoMadeTheCall(t *testing.T) {
	f := newLarge(t, setting{effects: tool.Additive})
	_, err := f.Do(t.Context(), callOf(t, `{}`))
	e := tool.AsError(err)
	row := f.record(t).Row
	if e.Link == nil {
		t.Fatalf("%+v", e)
	}
	want := &tool.Link{URI: e.Link.URI, Name: "orders_get", MIMEType: "application/json", Size: new(int64(len(large)))}
	if e.Kind != tool.ResultTooLarge || e.Ran != tool.RanYes || !reflect.DeepEqual(e.Link, want) || !strings.Contains(e.Text, want.URI) ||
		!strings.HasPrefix(want.URI, "toolwharf://result/call_") || strings.Contains(want.URI, row.Call) {
		t.Errorf("%+v", e)
	}
	if row.Outcome != ledger.Failed || row.Kind != tool.ResultTooLarge || !strings.Contains(row.Detail, want.URI) {
		t.Errorf("recorded %+v", row)
	}
	for range 2 {
		out, err := f.Do(t.Context(), reading(t, caller, want.URI))
		if err != nil {
			t.Fatal(err)
		}
		wanted := &tool.Result{Content: []tool.Content{&tool.Embedded{URI: want.URI, MIMEType: "application/json", Text: large}}}
		if !reflect.DeepEqual(out, wanted) {
			t.Errorf("read %+v", out)
		}
		row := f.record(t).Row
		if row.Outcome != ledger.OK || row.Op != tool.OpResource || row.Tool != "resources:"+want.URI || row.Adapter != "orders" ||
			row.Effects != tool.ReadOnly || row.ResultBytes != int64(len(large)) || row.Principal != caller.String() {
			t.Errorf("recorded %+v", row)
		}
	}
	if n := len(f.runner.sent()); n != 1 {
		t.Errorf("the adapter was asked %d times", n)
	}
}

func TestForEverybodyElseThereIsNoSuchResult(t *testing.T) {
	f := newLarge(t, setting{effects: tool.ReadOnly})
	uri := f.tooLarge(t)
	f.journal.taken()
	bob := tool.Principal{Kind: tool.Stdio, Subject: "bob"}
	nowhere := kept.URI(tool.NewID(tool.PrefixCall))
	for name, k := range map[string]struct {
		call     *tool.Call
		policy   *Policy
		recorded bool
	}{
		"another":                        {call: reading(t, bob, uri), recorded: true},
		"nobody":                         {call: reading(t, tool.Principal{}, uri), recorded: true},
		"another, of no result":          {call: reading(t, bob, nowhere)},
		"its owner, of no result":        {call: reading(t, caller, nowhere)},
		"its owner, spelled differently": {call: reading(t, caller, strings.ToUpper(uri))},
		"its owner, who may by now not know of the tool": {
			call: reading(t, caller, uri), recorded: true,
			policy: &Policy{Visible: func(_ tool.Principal, s *tool.Spec) bool { return s.Name != "orders_get" }},
		},
		"its owner, who may not know of the resource": {
			call: reading(t, caller, uri), recorded: true,
			policy: &Policy{Visible: func(_ tool.Principal, s *tool.Spec) bool { return s.Op != tool.OpResource }},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if k.policy == nil {
				k.policy = &Policy{}
			}
			f.SetPolicy(k.policy)
			_, err := f.Do(t.Context(), k.call)
			var unknown *UnknownError
			if !errors.As(err, &unknown) || *unknown != (UnknownError{tool.OpResource, k.call.Name}) {
				t.Errorf("answer is %v", err)
			}
			_, records := f.journal.taken()
			if !k.recorded {
				if len(records) != 0 {
					t.Errorf("recorded %+v", records)
				}
				return
			}
			if len(records) != 1 || records[0].Outcome != ledger.Refused || records[0].Code != "hidden" {
				t.Errorf("recorded %+v", records)
			}
		})
	}
}

func TestWhatTheRulesWouldHideIsNotKept(t *testing.T) {
	f := newLarge(t, setting{effects: tool.ReadOnly})
	f.SetPolicy(&Policy{Visible: func(_ tool.Principal, s *tool.Spec) bool { return s.Op != tool.OpResource }})
	_, err := f.Do(t.Context(), callOf(t, `{}`))
	if e := tool.AsError(err); e.Kind != tool.ResultTooLarge || e.Link != nil {
		t.Errorf("%+v", e)
	}
}

func TestRulesJudgeTheReadingOfAResultAsThatOfAResource(t *testing.T) {
	asked := tool.Verdict{Decision: tool.Ask, Reason: "ask"}
	denied := tool.Refused("no", tool.Errorf(tool.Denied, "rule", "no"))
	for name, k := range map[string]struct {
		verdict tool.Verdict
		want    ending
	}{
		"denied": {denied, ending{ledger.Refused, "rules", tool.Denied, "rule", "", 0}},
		"asked":  {asked, ending{ledger.Refused, "rules", tool.ApprovalDenied, "approval_required", "", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newLarge(t, setting{effects: tool.ReadOnly, gates: []Gate{gate{"rules", func(c *tool.Case) (tool.Verdict, error) {
				if strings.HasPrefix(c.Spec.Name, "resources:toolwharf://result/call_") {
					return k.verdict, nil
				}
				return tool.Passed("a tool"), nil
			}}}})
			uri := f.tooLarge(t)
			f.journal.taken()
			if _, err := f.Do(t.Context(), reading(t, caller, uri)); tool.AsError(err).Code != k.want.Code {
				t.Errorf("%v", err)
			}
			if got := endingOf(f.record(t).Row); got != k.want {
				t.Errorf("%+v, want %+v", got, k.want)
			}
		})
	}
}

// masking takes one word out of structured content.
type masking struct{ Redactor }

func (masking) Outcome(_ string, out tool.Outcome) {
	if r, ok := out.(*tool.Result); ok {
		r.Structured = []byte(strings.ReplaceAll(string(r.Structured), "two", "[redacted]"))
	}
}
func (masking) Error(_ string, e *tool.Error) *tool.Error { return e }
func (masking) Text(_, s string) string                   { return s }

func TestAResultIsRedactedBeforeItIsKept(t *testing.T) {
	f := newLarge(t, setting{effects: tool.ReadOnly})
	f.Redactor = masking{}
	uri := f.tooLarge(t)
	id, _ := kept.ID(uri)
	if r, ok := f.Kept.Find(id); !ok || string(r.JSON) != `{"rows":["one","[redacted]","three"]}` {
		t.Errorf("kept %s", r.JSON)
	}
}

func TestWhatCannotBeKeptIsRefusedWithoutALink(t *testing.T) {
	for name, r := range map[string]*tool.Result{
		"a picture":            {Content: []tool.Content{&tool.Blob{Kind: "image", Data: make([]byte, 100)}}},
		"what is not JSON":     {Structured: json.RawMessage(`{"rows":["one","two"`)},
		"what is not UTF-8":    {Structured: json.RawMessage("\"aaaaaaaaaaaaaaaaaaaaaaaaaaa\xff\"")},
		"more than one may be": {Structured: json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newLarge(t, setting{effects: tool.ReadOnly, run: gives(r)})
			_, err := f.Do(t.Context(), callOf(t, `{}`))
			if e := tool.AsError(err); e.Kind != tool.ResultTooLarge || e.Link != nil || strings.Contains(e.Text, "toolwharf:") {
				t.Errorf("%+v", e)
			}
		})
	}
}
