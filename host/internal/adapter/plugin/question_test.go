// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// asked is the question of a call that must ask.
func asked(t *testing.T, r tool.Runner, a *tool.Attempt) *tool.Question {
	t.Helper()
	out, err := r.Run(t.Context(), a)
	q, ok := out.(*tool.Question)
	if err != nil || !ok {
		t.Fatalf("%T: %v, %v", out, out, err)
	}
	return q
}

// next is the round after a question, answered.
func next(t *testing.T, a *tool.Attempt, q *tool.Question, answers map[string]string) *tool.Attempt {
	t.Helper()
	again := *a
	again.State, again.Answers = q.State, map[string]json.RawMessage{}
	for key, answer := range answers {
		again.Answers[key] = json.RawMessage(answer)
	}
	return &again
}

const (
	red   = `{"action":"accept","content":{"colour":"red"}}`
	seven = `{"action":"accept","content":{"size":9007199254740993}}`
)

func TestAQuestionTravelsAndItsAnswerComesBack(t *testing.T) {
	in := newHarness(t).started(desired(echo))

	t.Run("one form", func(t *testing.T) {
		a := attempt(t, "ask", `{}`)
		q := asked(t, in, a)
		var params struct {
			Mode, Message string
			Schema        struct {
				Properties map[string]struct{ Enum []string }
			} `json:"requestedSchema"`
		}
		r := q.Requests["colour"]
		if err := json.Unmarshal(r.Params, &params); err != nil || len(q.Requests) != 1 || r.Method != "elicitation/create" {
			t.Fatalf("%v: %v", q, err)
		}
		if params.Mode != "form" || params.Message != "Which colour?" ||
			!slices.Equal(params.Schema.Properties["colour"].Enum, []string{"red", "green", "blue"}) || len(q.State) > 0 {
			t.Errorf("%s, state %q", r.Params, q.State)
		}
		if got := result(t, in, next(t, a, q, map[string]string{"colour": red})); string(got.Structured) != `{"colour":"red"}` {
			t.Errorf("%s", got.Structured)
		}
	})
	t.Run("two rounds, state and every digit", func(t *testing.T) {
		a := attempt(t, "ask_twice", `{}`)
		first := asked(t, in, a)
		second := asked(t, in, next(t, a, first, map[string]string{"colour": red}))
		if _, ok := second.Requests["size"]; !ok || string(second.State) != `{"colour":"red"}` {
			t.Fatalf("%v", second)
		}
		got := result(t, in, next(t, a, second, map[string]string{"size": seven}))
		if string(got.Structured) != `{"colour":"red","size":9007199254740993}` {
			t.Errorf("%s", got.Structured)
		}
	})
	t.Run("a state without a question that was asked anew", func(t *testing.T) {
		a := attempt(t, "ask_forever", `{}`)
		q := asked(t, in, a)
		for range 3 {
			q = asked(t, in, next(t, a, q, map[string]string{"again": `{"action":"accept"}`}))
		}
		if string(q.State) != "5" {
			t.Errorf("state %q", q.State)
		}
	})
	t.Run("answers that are none are asked for again", func(t *testing.T) {
		a := attempt(t, "ask", `{}`)
		q := asked(t, in, a)
		for _, answers := range []map[string]string{
			nil,
			{"size": seven},
			{"colour": `null`},
			{"colour": `[]`},
			{"colour": `{"action":"accept","content":{"colour":"mauve"}}`},
			{"colour": `{"action":"perhaps","content":{"colour":"red"}}`},
		} {
			if again := asked(t, in, next(t, a, q, answers)); !bytes.Equal(again.Requests["colour"].Params, q.Requests["colour"].Params) {
				t.Errorf("%v: %v", answers, again)
			}
		}
	})
	t.Run("a user who does not want to", func(t *testing.T) {
		for _, action := range []string{"decline", "cancel"} {
			a := attempt(t, "write_after_asking", `{"text":"x"}`)
			q := asked(t, in, a)
			out, err := in.Run(t.Context(), next(t, a, q, map[string]string{"keep": `{"action":"` + action + `"}`}))
			if e := failure(t, out, err); e.Kind != tool.ToolError || e.Code != "declined" {
				t.Errorf("%s: %v", action, e)
			}
		}
		if got := result(t, in, attempt(t, "notes", `{}`)); string(got.Structured) != `{"notes":[]}` {
			t.Errorf("%s", got.Structured)
		}
	})
	t.Run("an effect after the answer", func(t *testing.T) {
		a := attempt(t, "write_after_asking", `{"text":"x"}`)
		q := asked(t, in, a)
		got := result(t, in, next(t, a, q, map[string]string{"keep": `{"action":"accept","content":{"keep":true}}`}))
		if string(got.Structured) != `{"notes":1}` {
			t.Errorf("%s", got.Structured)
		}
	})
	t.Run("a question that only the executor refuses", func(t *testing.T) {
		q := asked(t, in, attempt(t, "ask_secret", `{}`))
		if !bytes.Contains(q.Requests["login"].Params, []byte(`"password"`)) {
			t.Errorf("%v", q)
		}
	})
}

func TestMessagesForTheClientTravel(t *testing.T) {
	in := newHarness(t).started(desired(echo))
	for level, want := range map[string]int{"info": 0, "error": 1} {
		a := attempt(t, "notify", `{"level":"`+level+`","data":[9007199254740993,1.10]}`)
		var got []tool.Event
		a.Client.LogLevel, a.Events = "warning", func(e tool.Event) { got = append(got, e) }
		result(t, in, a)
		if len(got) != want {
			t.Fatalf("%s: %v", level, got)
		}
		if want == 0 {
			continue
		}
		if l, ok := got[0].(*tool.Log); !ok || l.Level != level || string(l.Data) != `[9007199254740993,1.10]` {
			t.Errorf("%+v", got[0])
		}
	}
}

func TestAQuestionThatIsNoneBreaksTheProtocol(t *testing.T) {
	for name, q := range map[string]*pluginv1.InputRequired{
		"nothing at all": {},
		"params that are no object": {
			Requests: map[string]*pluginv1.InputRequest{"k": {Method: "roots/list", Params: []byte(`[]`)}},
		},
		"params that are not JSON": {
			Requests: map[string]*pluginv1.InputRequest{"k": {Method: "roots/list", Params: []byte(`{`)}},
		},
		"params with a key twice": {
			Requests: map[string]*pluginv1.InputRequest{"k": {Method: "elicitation/create", Params: []byte(`{"message":"a","message":"b"}`)}},
		},
	} {
		out, err := question(q)
		if out != nil || failure(t, nil, err).Code != "protocol_violation" {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
	out, err := question(&pluginv1.InputRequired{State: []byte("s")})
	if err != nil || string(out.State) != "s" || len(out.Requests) != 0 {
		t.Errorf("a state alone: %v, %v", out, err)
	}
}
