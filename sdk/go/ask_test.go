// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

type berth struct {
	Number int64    `json:"number" min:"1"`
	Side   string   `json:"side" enum:"port,starboard" default:"port"`
	Ropes  []string `json:"ropes,omitempty" enum:"bow,stern"`
	Note   *string  `json:"note"`
}

// inRound is the context of a call that comes back with answers and a state.
func inRound(t *testing.T, answers map[string]string, state []byte) (ctx context.Context, logged *strings.Builder) {
	t.Helper()
	logged = new(strings.Builder)
	run := &running{
		call: Call{ID: "call_1"}, state: state, answers: map[string][]byte{},
		log: slog.New(slog.NewTextHandler(logged, nil)),
	}
	for key, answer := range answers {
		run.answers[key] = []byte(answer)
	}
	return context.WithValue(t.Context(), callKey{}, run), logged
}

func TestAnswersAreReadByKeyAndType(t *testing.T) {
	note := "n"
	for name, c := range map[string]struct {
		answer string
		want   berth
		action Action
	}{
		"accepted, defaults filled in": {
			`{"action":"accept","content":{"number":9007199254740993}}`, berth{Number: 9007199254740993, Side: "port"}, ActionAccept,
		},
		"accepted, with everything and more": {
			`{"action":"accept","content":{"number":2.0,"side":"starboard","ropes":["bow"],"note":"n","more":1},"_meta":{}}`,
			berth{2, "starboard", []string{"bow"}, &note},
			ActionAccept,
		},
		"declined":              {`{"action":"decline"}`, berth{}, ActionDecline},
		"cancelled":             {`{"action":"cancel","content":null}`, berth{}, ActionCancel},
		"declined with content": {`{"action":"decline","content":{"number":1}}`, berth{}, ActionDecline},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, logged := inRound(t, map[string]string{"berth": c.answer}, nil)
			got, action, ok := Answer[berth](ctx, "berth")
			if diff := cmp.Diff(c.want, got); diff != "" || action != c.action || !ok {
				t.Errorf("%s, %v\n%s", action, ok, diff)
			}
			if logged.Len() > 0 {
				t.Errorf("logged %s", logged)
			}
		})
	}
}

func TestWhatIsNoAnswerIsMissingAndLoggedWithoutTheContent(t *testing.T) {
	for name, answer := range map[string]string{
		"text":                      `"s3cret"`,
		"null":                      `null`,
		"a list":                    `["s3cret"]`,
		"not JSON":                  `{`,
		"empty":                     ``,
		"no action":                 `{"content":{"number":1}}`,
		"an unknown action":         `{"action":"s3cret","content":{"number":1}}`,
		"an action of another type": `{"action":1}`,
		"accepted without content":  `{"action":"accept"}`,
		"content of another type":   `{"action":"accept","content":["s3cret"]}`,
		"a field is missing":        `{"action":"accept","content":{"side":"port"}}`,
		"a field of another type":   `{"action":"accept","content":{"number":"s3cret"}}`,
		"a field out of bounds":     `{"action":"accept","content":{"number":0}}`,
		"a field beyond its type":   `{"action":"accept","content":{"number":9223372036854775808}}`,
		"none of the choices":       `{"action":"accept","content":{"number":1,"side":"s3cret"}}`,
		"one wrong of several":      `{"action":"accept","content":{"number":1,"ropes":["bow","s3cret"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, logged := inRound(t, map[string]string{"berth": answer}, nil)
			got, action, ok := Answer[berth](ctx, "berth")
			if diff := cmp.Diff(berth{}, got); diff != "" || action != "" || ok {
				t.Errorf("%s, %v\n%s", action, ok, diff)
			}
			if !strings.Contains(logged.String(), "key=berth") || strings.Contains(logged.String(), "s3cret") {
				t.Errorf("logged %q", logged)
			}
		})
	}
}

func TestACallThatWasNotAskedHasNoAnswers(t *testing.T) {
	asked, logged := inRound(t, map[string]string{"other": `{"action":"accept","content":{}}`}, nil)
	for name, ctx := range map[string]context.Context{"no call": t.Context(), "another key": asked} {
		if _, action, ok := Answer[berth](ctx, "berth"); ok || action != "" {
			t.Errorf("%s: %s, %v", name, action, ok)
		}
		if _, ok := Response[json.RawMessage](ctx, "berth"); ok {
			t.Errorf("%s: a response", name)
		}
		if RoundState(ctx, new(any)) {
			t.Errorf("%s: a state", name)
		}
	}
	if logged.Len() > 0 {
		t.Errorf("logged %s", logged)
	}
}

func TestAnswersOfAnyTypeKeepTheirDigits(t *testing.T) {
	const content = `{"a":9007199254740993,"b":1.10,"c":1e400}`
	ctx, _ := inRound(t, map[string]string{"k": `{"action":"accept","content":` + content + `}`}, nil)
	if raw, action, ok := Answer[json.RawMessage](ctx, "k"); string(raw) != content || action != ActionAccept || !ok {
		t.Errorf("%s, %s, %v", raw, action, ok)
	}
	want := map[string]any{"a": json.Number("9007199254740993"), "b": json.Number("1.10"), "c": json.Number("1e400")}
	if got, _, ok := Answer[map[string]any](ctx, "k"); !ok || cmp.Diff(want, got) != "" {
		t.Errorf("%v, %v", got, ok)
	}
	type exact struct {
		B json.Number `json:"b"`
	}
	if got, _, ok := Answer[exact](ctx, "k"); !ok || got.B != "1.10" {
		t.Errorf("%v, %v", got, ok)
	}
	if _, _, ok := Answer[struct{ A struct{} }](ctx, "k"); ok {
		t.Error("a type that is no form was read")
	}
}

func TestResponsesAreReadWhole(t *testing.T) {
	ctx, logged := inRound(t, map[string]string{"roots": `{"roots":[{"uri":"file:///a","n":9007199254740993}]}`, "bad": `{`}, nil)
	type roots struct {
		Roots []struct {
			URI string `json:"uri"`
			N   any    `json:"n"`
		} `json:"roots"`
	}
	got, ok := Response[roots](ctx, "roots")
	if !ok || got.Roots[0].URI != "file:///a" || got.Roots[0].N != json.Number("9007199254740993") {
		t.Errorf("%v, %v", got, ok)
	}
	if raw, ok := Response[json.RawMessage](ctx, "roots"); !ok || !strings.HasPrefix(string(raw), `{"roots"`) {
		t.Errorf("%s, %v", raw, ok)
	}
	if _, ok := Response[[]int](ctx, "roots"); ok || !strings.Contains(logged.String(), "key=roots") {
		t.Errorf("read as a list; logged %s", logged)
	}
	if _, ok := Response[json.RawMessage](ctx, "bad"); ok {
		t.Error("read what is not JSON")
	}
}

func TestAQuestionOnTheWire(t *testing.T) {
	got, err := asked(fmt.Errorf("wrapped: %w", Ask(
		Form[berth]("berth", "Where <to>?\xff"),
		Request("roots", "roots/list", nil),
		Request("model", "sampling/createMessage", json.RawMessage(`{"maxTokens":1.0}`)),
	).State(map[string]any{"n": json.Number("9007199254740993")})))
	if err != nil {
		t.Fatal(err)
	}
	want := &pluginv1.InputRequired{
		Requests: map[string]*pluginv1.InputRequest{
			"berth": {Method: "elicitation/create", Params: []byte(`{"mode":"form","message":"Where <to>?` + "\uFFFD" + `","requestedSchema":` +
				`{"type":"object","properties":{"number":{"type":"integer","minimum":1},` +
				`"side":{"type":"string","default":"port","enum":["port","starboard"]},` +
				`"ropes":{"type":"array","items":{"type":"string","enum":["bow","stern"]}},"note":{"type":"string"}},"required":["number"]}}`)},
			"roots": {Method: "roots/list", Params: []byte(`{}`)},
			"model": {Method: "sampling/createMessage", Params: []byte(`{"maxTokens":1.0}`)},
		},
		State: []byte(`{"n":9007199254740993}`),
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestQuestionsThatCannotBeAskedAreFaults(t *testing.T) {
	roots := func(key string) InputRequest { return Request(key, "roots/list", nil) }
	var many []InputRequest
	for i := range maxQuestions + 1 {
		many = append(many, roots(fmt.Sprint(i)))
	}
	type login struct {
		Password string `json:"password"`
	}
	type nested struct {
		In struct{ A int } `json:"in"`
	}
	large := json.RawMessage(`{"x":"` + strings.Repeat("x", maxQuestionBytes) + `"}`)
	for want, r := range map[string]*InputRequired{
		"neither a question nor a state": Ask(),
		"asked twice at once":            Ask(roots("a"), roots("a")),
		"17 questions at once":           Ask(many...),
		"neither a Form nor a Request":   Ask(InputRequest{}),
		"a key is UTF-8":                 Ask(roots("")),
		"of 1 to 128 bytes":              Ask(roots(strings.Repeat("k", 129))),
		`method "tools/list" is not one`: Ask(Request("a", "tools/list", nil)),
		"params are not a JSON object":   Ask(Request("a", "roots/list", []int{1})),
		"unsupported type":               Ask(Request("a", "roots/list", func() {})),
		"the limit is 1048576":           Ask(Request("a", "sampling/createMessage", large)),
		`"password": asks for a secret`:  Ask(Form[login]("a", "Log in.")),
		"a form is flat":                 Ask(Form[nested]("a", "Well?")),
		"without a message":              Ask(Form[berth]("a", "")),
		"state: json: unsupported type":  Ask(roots("a")).State(func() {}),
	} {
		_, err := asked(r)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != KindToolFailed || e.Code != "question" || !strings.Contains(e.Detail, want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTheStateIsBounded(t *testing.T) {
	for n, ok := range map[int]bool{MaxState: true, MaxState + 1: false} {
		got, err := asked(Ask().State(make([]byte, n)))
		if (err == nil) != ok || ok && len(got.GetState()) != n {
			t.Errorf("%d bytes: %v", n, err)
		}
		if e, is := errors.AsType[*Error](err); !ok && (!is || e.Code != "state_too_large" || e.Text != "") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestStatesComeBackAsTheyWere(t *testing.T) {
	type state struct {
		N    int64 `json:"n"`
		Text string
		Any  any
	}
	before := state{9007199254740993, "<é>", json.Number("1.10")}
	sent, err := asked(Ask().State(before))
	if err != nil {
		t.Fatal(err)
	}
	ctx, logged := inRound(t, nil, sent.GetState())
	var after state
	if !RoundState(ctx, &after) || cmp.Diff(before, after) != "" {
		t.Errorf("got %+v", after)
	}
	if RoundState(ctx, new(int)) || !strings.Contains(logged.String(), "cannot be read") {
		t.Errorf("an object was read as a number; logged %s", logged)
	}
	sent, err = asked(Ask().State([]byte{0, 255}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, _ = inRound(t, nil, sent.GetState())
	var raw []byte
	if !RoundState(ctx, &raw) || string(raw) != "\x00\xff" {
		t.Errorf("got %q", raw)
	}
}

func TestAnErrorBesideAQuestionIsAnError(t *testing.T) {
	question := Ask(Form[berth]("berth", "Where to?"))
	for _, err := range []error{
		Failed("full", question), errors.Join(question, NotFound("", "no berth")), errors.New("plain"), (*InputRequired)(nil),
	} {
		if q, got := asked(err); q != nil || got == nil {
			t.Errorf("%T: asked %v, %v", err, q, got)
		}
	}
	if got := question.Error(); got != "input required: berth" {
		t.Errorf("got %q", got)
	}
}

func TestMistakesOfQuestionsAreFoundWhenThePluginStarts(t *testing.T) {
	p := NewStateless(Info{Name: "asking"})
	nothing := func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }
	AddFunc(p, "good", nothing, Asks(Form[berth]("berth", "Where to?"), Request("roots", "roots/list", nil)))
	if len(p.core.faults) > 0 {
		t.Fatal(p.core.faults)
	}
	AddFunc(p, "bad", nothing, Asks(Form[struct {
		Code string `json:"code" jsonschema:"the one-time passcode"`
	}]("mail", "Your code?")), Asks(Request("x", "ping", nil)))
	if len(p.core.faults) != 2 || !strings.HasPrefix(p.core.faults[0].Error(), `tool "bad": question "mail": `) ||
		!strings.Contains(p.core.faults[0].Error(), `field "code": asks for a secret`) {
		t.Errorf("got %v", p.core.faults)
	}
}

func TestClientsSayWhatTheyCan(t *testing.T) {
	const old = "2025-11-25"
	for _, c := range []struct {
		version, capabilities, path string
		want                        bool
	}{
		{answerable, `{"elicitation":{}}`, "elicitation/form", true},
		{answerable, `{"elicitation":{}}`, "elicitation", true},
		{answerable, `{"elicitation":{}}`, "elicitation/url", false},
		{answerable, `{"elicitation":{"url":{}}}`, "elicitation/form", false},
		{answerable, `{"elicitation":{"url":{}}}`, "elicitation/url", true},
		{answerable, `{"elicitation":{"form":{},"url":{}}}`, "elicitation/form", true},
		{answerable, `{"elicitation":null}`, "elicitation/form", false},
		{answerable, `{"elicitation":[]}`, "elicitation/url", false},
		{"2027-01-01", `{"sampling":{"tools":{}}}`, "sampling/tools", true},
		{answerable, `{"roots":false}`, "roots", false},
		{answerable, `{}`, "roots", false},
		{answerable, ``, "roots", false},
		{answerable, `[`, "roots", false},
		{old, `{"elicitation":{},"sampling":{},"roots":{}}`, "elicitation/form", false},
		{old, `{"sampling":{}}`, "sampling", false},
		{"", `{"roots":{}}`, "roots", false},
		{old, `{"extensions":{"example.com/maps":{"sea":{}}}}`, "extensions/example.com/maps", true},
		{old, `{"extensions":{"example.com/maps":{"sea":{}}}}`, "extensions/example.com/maps/sea", true},
		{old, `{"extensions":{"example.com/maps":{}}}`, "extensions/example.com", false},
	} {
		ctx := context.WithValue(t.Context(), callKey{}, &running{
			call: Call{ProtocolVersion: c.version, ClientCapabilities: json.RawMessage(c.capabilities)},
		})
		if got := ClientCan(ctx, c.path); got != c.want {
			t.Errorf("%q %s %s: got %v", c.version, c.capabilities, c.path, got)
		}
	}
	if ClientCan(t.Context(), "elicitation/form") {
		t.Error("nobody can")
	}
}
