// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestReadableArgumentsShowEveryDigitAndEveryCharacter(t *testing.T) {
	for args, want := range map[string]string{
		`{"n": 9007199254740993.0,"e":1E400}`:  "{\n  \"n\": 9007199254740993.0,\n  \"e\": 1E400\n}",
		`{}`:                                   `{}`,
		"{\"a\":\"x\u202ey\"}":                 "{\n  \"a\": \"x\\u202ey\"\n}",
		"{\"a\u200b\":1}":                      "{\n  \"a\\u200b\": 1\n}",
		"{\"a\":\"\u00a0\u3164\u2800\ufe0f\"}": "{\n  \"a\": \"\\u00a0\\u3164\\u2800\\ufe0f\"\n}",
		"{\"a\":\"\U000e0041\"}":               "{\n  \"a\": \"\\udb40\\udc41\"\n}",
		"{\"a\":\"é \u05d0 漢 🙂\"}":             "{\n  \"a\": \"é \u05d0 漢 🙂\"\n}",
		`{"\u0064\u0065l":"\u003cb\u003e\/ \ud83d\ude42 \u0022\u005c\"\\ \u000a\n\udb40\udc41"}`: "{\n  \"del\": \"<b>/ 🙂 \\u0022\\u005c\\\"\\\\ \\u000a\\n\\udb40\\udc41\"\n}",
		`{"a":"\u202e\\u202e\n"}`: "{\n  \"a\": \"\\u202e\\\\u202e\\n\"\n}",
	} {
		got := approval.Readable([]byte(args))
		if got != want {
			t.Errorf("%q: %q", args, got)
		}
	}
}

func FuzzReadable(f *testing.F) {
	f.Add("{\"a\":\"\u202e\\u202e\",\"b\":[1.0,{\"c\":null}]}")
	f.Fuzz(func(t *testing.T, raw string) {
		args, err := tool.ParseArgs([]byte(raw))
		if err != nil {
			return
		}
		text := approval.Readable(args.Bytes())
		again, err := tool.ParseArgs([]byte(text))
		if err != nil || again.Digest() != args.Digest() {
			t.Errorf("%q reads as %q: %v", raw, text, err)
		}
		if i := strings.IndexFunc(strings.ReplaceAll(text, "\n", ""), approval.Hidden); i >= 0 {
			t.Errorf("%q: something is hidden at %d", text, i)
		}
	})
}

func TestArgumentsThatAreNestedDeeplyDoNotBecomeTooLargeToLookAt(t *testing.T) {
	args := `{"a":` + strings.Repeat("[", 60) + strings.Repeat("1,", 400_000) + "1" + strings.Repeat("]", 60) + "}"
	if n := len(approval.Readable([]byte(args))); n > 3*len(args) {
		t.Errorf("%d bytes are shown as %d", len(args), n)
	}
}

func TestVisibleTextHidesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"plain é":        "plain é",
		"a\u202eb":       `a\u{202e}b`,
		"a\nb":           `a\u{a}b`,
		"a\xffb\u200b":   "a\uFFFDb" + `\u{200b}`,
		"\U000e0041":     `\u{e0041}`,
		"\x1b[31mred":    `\u{1b}[31mred`,
		"<b>&amp;</b>":   "<b>&amp;</b>",
		"x\u00a0y\u2028": `x\u{a0}y\u{2028}`,
	} {
		if got := approval.Visible(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
