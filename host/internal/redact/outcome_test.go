// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/redact"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestJSONStaysJSON(t *testing.T) {
	r := knowing("123456789012", `with "quotes"`, "a\nsecret\nof lines", "clé très secrète", `\u0041\u0041\u0041`)
	for _, tc := range []struct{ raw, want string }{
		{`{"a": "x 123456789012 y"}`, `{"a": "x [redacted] y"}`},
		{`{"a": 123456789012, "b": -1123456789012.5e3, "c": 12345678901}`, `{"a": "[redacted]", "b": "[redacted]", "c": 12345678901}`},
		{`["with \"quotes\"", "with \u0022quotes\u0022", "\u0077ith \"quotes\""]`, `["[redacted]", "[redacted]", "[redacted]"]`},
		{`"a\nsecret\u000aof lines"`, `"[redacted]"`},
		{`"cl\u00e9 tr\u00E8s secrète\n"`, `"[redacted]\n"`},
		{`{"123456789012": 1, "x123456789012" : 2}`, `{"[redacted]": 1, "x[redacted] 2" : 2}`},
		{`["nothing \"here\"", true, null, 1e5]`, `["nothing \"here\"", true, null, 1e5]`},
		{`["\ud800 with \"quotes\""]`, "[\"\ufffd [redacted]\"]"},
		{`["{\"a\":\"with \\\"quotes\\\"\"}"]`, `["{\"a\":\"[redacted]\"}"]`},
		{`"\\u0041\\u0041\\u0041"`, `"[redacted]"`},
		{`["12345678", "9012"]`, `["12345678", "9012"]`},
		{"", ""},
	} {
		raw := []byte(tc.raw)
		if got := string(r.JSON("orders", raw)); got != tc.want {
			t.Errorf("%s becomes %s, want %s", tc.raw, got, tc.want)
		}
		if string(raw) != tc.raw {
			t.Errorf("%s was changed", tc.raw)
		}
	}
}

func TestWhatJSONSaysIsRedactedHoweverItIsEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hidden := rapid.StringN(12, 30, -1).Draw(t, "secret")
		r := knowing(hidden)
		said := rapid.String().Draw(t, "before") + hidden + rapid.String().Draw(t, "after")
		var raw strings.Builder
		raw.WriteString(`{"k":["`)
		for _, c := range said {
			quoted, _ := json.Marshal(string(c))
			switch {
			case c <= 0xffff && rapid.Bool().Draw(t, "escape"):
				fmt.Fprintf(&raw, `\u%04x`, c)
			default:
				raw.Write(quoted[1 : len(quoted)-1])
			}
		}
		raw.WriteString(`"]}`)
		var got struct{ K []string }
		if err := json.Unmarshal(r.JSON("orders", []byte(raw.String())), &got); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ReplaceAll(got.K[0], redact.Mark, "\x00"), hidden) {
			t.Fatalf("%q is left in %q", hidden, got.K[0])
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, raw := range []string{
		`{"a":"hunter2hunter2","b":[123456789012]}`, `"\u0068unter2hunter2"`, `{"123456789012":1,"x123456789012":2}`,
		`"hunter2hunter2\`, `-`, `["ab\"cd\\ef\"gh"]`, "\"\xff\xff\"", `"aHVudGVyMmh1bnRlcjI="`,
	} {
		f.Add([]byte(raw))
	}
	r := knowing("hunter2hunter2", "123456789012", `ab"cd\ef"gh!`, `12,34:"56",78`, strings.Repeat("\xff", 12), "e+1234567890.", `\\\\\\\\\\\\`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		got := r.JSON("orders", raw)
		if !bytes.Equal(raw, before) {
			t.Fatal("what it was given was changed")
		}
		if json.Valid(raw) && !json.Valid(got) {
			t.Fatalf("%q becomes %q", raw, got)
		}
		if _, err := tool.ParseJSON(raw); err == nil {
			if _, err := tool.ParseJSON(got); err != nil {
				t.Fatalf("%q becomes %q: %v", raw, got, err)
			}
			if bytes.Contains(got, []byte("hunter2hunter2")) || bytes.Contains(got, []byte("123456789012")) {
				t.Fatalf("%q becomes %q", raw, got)
			}
		}
		if again := r.JSON("orders", got); json.Valid(raw) && !bytes.Equal(again, got) {
			t.Fatalf("%q becomes %q, and then %q", raw, got, again)
		}
	})
}

func TestEveryPartOfAResultIsRedacted(t *testing.T) {
	const s = "hunter2hunter2"
	raw, clean := json.RawMessage(`{"k":"`+s+`"}`), json.RawMessage(`{"k":"[redacted]"}`)
	notes := func(s string) *tool.Annotations { return &tool.Annotations{Audience: []string{s}, LastModified: s} }
	blocks := func(s string, raw json.RawMessage) []tool.Content {
		return []tool.Content{
			&tool.Text{Text: s, Meta: raw, Annotations: notes(s)},
			&tool.Blob{Data: []byte(s), MIMEType: s, Meta: raw, Annotations: notes(s)},
			&tool.Link{
				URI: s, Name: s, Title: s, Description: s, MIMEType: s, Meta: raw, Annotations: notes(s),
				Icons: []tool.Icon{{Src: s, MIMEType: s, Theme: s}},
			},
			&tool.Embedded{URI: s, MIMEType: s, Text: s, Blob: []byte(s), Meta: raw, ContentMeta: raw, Annotations: notes(s)},
		}
	}
	given := blocks(s, raw)
	res := &tool.Result{Content: given, Structured: raw, Meta: raw}
	r := knowing(s)
	r.Outcome("orders", res)
	want := &tool.Result{Content: blocks(redact.Mark, clean), Structured: clean, Meta: clean}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(blocks(s, raw), given); diff != "" {
		t.Errorf("blocks that others hold were changed:\n%s", diff)
	}
	plain := &tool.Result{Content: blocks("x", json.RawMessage(`{}`))}
	first := plain.Content[0]
	r.Outcome("orders", plain)
	if plain.Content[0] != first {
		t.Error("a block without secrets was copied")
	}
	q := &tool.Question{Requests: map[string]tool.InputRequest{"a": {Params: raw}}}
	r.Outcome("orders", q)
	if string(q.Requests["a"].Params) != string(clean) {
		t.Errorf("question: %s", q.Requests["a"].Params)
	}
	r.Outcome("orders", &tool.Pending{})
	r.Outcome("orders", nil)
}

func TestEventsAreRedacted(t *testing.T) {
	r := knowing("hunter2hunter2")
	p := &tool.Progress{Message: "hunter2hunter2"}
	if got, ok := r.Event("orders", p).(*tool.Progress); !ok || got.Message != redact.Mark || p.Message == redact.Mark {
		t.Errorf("%+v", got)
	}
	l := &tool.Log{Logger: "hunter2hunter2", Data: json.RawMessage(`"hunter2hunter2"`)}
	if got, ok := r.Event("orders", l).(*tool.Log); !ok || got.Logger != redact.Mark || string(got.Data) != `"[redacted]"` {
		t.Errorf("%+v", got)
	}
}

func TestAnErrorSaysNoSecretAndStaysWhatItIs(t *testing.T) {
	const s = "hunter2hunter2"
	r := knowing(s)
	e := &tool.Error{
		Kind: tool.ToolFailed, Code: "x", Text: "for " + s, Detail: "with " + s, Sent: true,
		Needs: json.RawMessage(`{"` + s + `":{}}`), Link: &tool.Link{URI: "x://" + s, Name: "n"},
		Err: fmt.Errorf("%s: %w: %w", s, io.ErrUnexpectedEOF, &tool.ProtocolError{Code: 5, Message: s, Data: json.RawMessage(`"` + s + `"`)}),
	}
	got := r.Error("orders", e)
	if strings.Contains(got.Error(), s) || strings.Contains(got.Detail, s) || got.Kind != e.Kind || !got.Sent {
		t.Errorf("%+v", got)
	}
	if string(got.Needs) != `{"[redacted]":{}}` || got.Link == nil || strings.Contains(got.Link.URI, s) || got.Link.Name != "n" {
		t.Errorf("%s, %+v", got.Needs, got.Link)
	}
	if !errors.Is(got, io.ErrUnexpectedEOF) {
		t.Error("the cause cannot be told")
	}
	var p *tool.ProtocolError
	if !errors.As(got, &p) || p.Code != 5 || p.Message != redact.Mark || string(p.Data) != `"[redacted]"` {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(e.Text, s) {
		t.Error("what it was given was changed")
	}
	if none := new(redact.Redactor).Error("orders", e); none != e {
		t.Error("copied for nothing")
	}
	if r.Error("orders", nil) != nil {
		t.Error("an error from nothing")
	}
}
