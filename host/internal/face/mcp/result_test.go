// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/quick"
	"time"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestResultsAsClientsSeeThem(t *testing.T) {
	size := int64(9007199254740993)
	notes := &tool.Annotations{Audience: []string{"user"}, Priority: new(0.5), LastModified: "2026-07-28T00:00:00Z"}
	meta := json.RawMessage(`{"com.example/n":1.10,"io.modelcontextprotocol/x":1,"toolwharf/ran":"yes"}`)
	for name, tt := range map[string]struct {
		result  tool.Result
		wrapped bool
	}{
		"nothing":            {},
		"object":             {result: tool.Result{Structured: json.RawMessage(` {"n": 9007199254740993, "p": 1.10, "s": "a\"<b>é"} `)}},
		"array":              {result: tool.Result{Structured: json.RawMessage(`[1, 2.50]`)}},
		"null":               {result: tool.Result{Structured: json.RawMessage(`null`)}},
		"number":             {result: tool.Result{Structured: json.RawMessage(`12345678901234567890`)}},
		"wrapped_object":     {result: tool.Result{Structured: json.RawMessage(`{"n":1}`)}, wrapped: true},
		"wrapped_array":      {result: tool.Result{Structured: json.RawMessage(`[]`)}, wrapped: true},
		"content_given":      {result: tool.Result{Structured: json.RawMessage(`{"n":1}`), Content: []tool.Content{&tool.Text{Text: "one"}}}},
		"meta":               {result: tool.Result{Meta: meta}},
		"cached":             {result: tool.Result{Structured: json.RawMessage(`{"n":1}`), Meta: meta, Cached: true}},
		"unrecorded":         {result: tool.Result{Structured: json.RawMessage(`{"n":1}`), Meta: meta, Unrecorded: true}},
		"meta_all_reserved":  {result: tool.Result{Meta: json.RawMessage(`{"mcp.dev/x":1}`)}},
		"text_of_everything": {result: tool.Result{Content: []tool.Content{&tool.Text{Text: "\x00\t\n\r\"\\/<&>\u2028é😀\xff!"}}}},
		"blocks": {result: tool.Result{Content: []tool.Content{
			&tool.Text{Text: "", Annotations: notes, Meta: meta},
			&tool.Blob{Kind: "image", Data: []byte{0, 1, 2, 255}, MIMEType: "image/png", Annotations: notes, Meta: meta},
			&tool.Blob{Kind: "audio", MIMEType: "audio/wav"},
			&tool.Link{URI: "file:///a", Name: "a"},
			&tool.Link{
				URI: "file:///b", Name: "b", Title: "B", Description: "the b", MIMEType: "text/plain", Size: &size,
				Icons: []tool.Icon{{Src: "data:,"}}, Annotations: notes, Meta: meta,
			},
			&tool.Embedded{URI: "file:///c", Text: "c"},
			&tool.Embedded{URI: "file:///d", MIMEType: "a/b", Blob: []byte("d"), Annotations: notes, Meta: meta, ContentMeta: meta},
			&tool.Embedded{URI: "file:///e", Blob: []byte{}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := resultOf(&tt.result, tt.wrapped)
			if err != nil {
				t.Fatal(err)
			}
			res.complete(versionModern, nil)
			goldenResult(t, name, res)
		})
	}
}

func goldenResult(t *testing.T, name string, res *callResult) {
	t.Helper()
	raw, err := marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "result/"+name+".golden.json", raw)
}

func TestFailuresAsClientsSeeThem(t *testing.T) {
	for name, err := range map[string]error{
		"error":            tool.Errorf(tool.ToolError, "table_not_allowed", "no <table> %q", "x"),
		"error_ran":        &tool.Error{Kind: tool.OutcomeUnknown, Text: "who knows", Ran: tool.RanUnknown},
		"error_retry":      &tool.Error{Kind: tool.RateLimited, Code: "adapter_busy", Text: "later", RetryAfter: time.Nanosecond},
		"error_unrecorded": &tool.Error{Kind: tool.ToolError, Text: "no", Unrecorded: true},
		"error_link": &tool.Error{
			Kind: tool.ResultTooLarge, Text: "too large", Ran: tool.RanYes,
			Link: &tool.Link{URI: "toolwharf://result/call_X", Name: "big", MIMEType: "application/json", Size: new(int64(7))},
		},
		"error_textless": &tool.Error{Kind: tool.Cancelled},
		"error_foreign":  json.Unmarshal([]byte("{"), new(int)),
	} {
		t.Run(name, func(t *testing.T) {
			res, protocol := failure(err, versionModern)
			if protocol != nil {
				t.Fatal(protocol)
			}
			goldenResult(t, name, res)
		})
	}
	for _, err := range []error{executor.ErrInvalidState, fmt.Errorf("x: %w", executor.ErrInvalidState)} {
		if _, protocol := failure(err, versionModern); protocol == nil || protocol.Code != -32602 || protocol.Message != "invalid request state" {
			t.Errorf("%v: %+v", err, protocol)
		}
	}
	if _, err := failure(&executor.UnknownError{Name: "a\"b"}, versionModern); err == nil || err.Message != `unknown tool "a\"b"` {
		t.Errorf("unknown: %+v", err)
	}
}

func TestStringsAreWrittenAsJSON(t *testing.T) {
	same := func(s string) bool {
		raw := appendString(nil, s)
		var got string
		if err := json.Unmarshal(raw, &got); err != nil || !utf8.Valid(raw) {
			return false
		}
		var want string
		std, _ := json.Marshal(s)
		_ = json.Unmarshal(std, &want)
		return got == want
	}
	for _, s := range []string{"", "\xff", "a\xc3", "\xed\xa0\x80", "\x00\x1f\x7f", "\\u0000", "\ufffd", "é\xe2\x82"} {
		if !same(s) {
			t.Errorf("%q became %s", s, appendString(nil, s))
		}
	}
	if err := quick.Check(func(b []byte) bool { return same(string(b)) }, nil); err != nil {
		t.Error(err)
	}
}
