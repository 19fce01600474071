// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestWhatWouldNotBeSeenIsMarkedAndWhatReordersKeepsItsPlace(t *testing.T) {
	for args, want := range map[string][]segment{
		`{}`:                        {{plain, `{}`}},
		"{\"a\":\"b\u202ec\"}":      {{plain, "{\n  \"a\": \"b"}, {escaped, `\u202e`}, {plain, "c\"\n}"}},
		"{\"a\":\"\\\\u202e\"}":     {{plain, "{\n  \"a\": \"\\\\u202e\"\n}"}},
		"{\"\u05d0\":\"\u05d1\"}":   {{plain, "{\n  "}, {rightToLeft, "\"\u05d0\""}, {plain, ": "}, {rightToLeft, "\"\u05d1\""}, {plain, "\n}"}},
		"{\"a\":\"\u05d0\u202eb\"}": {{plain, "{\n  \"a\": "}, {rightToLeft, "\"\u05d0"}, {escaped, `\u202e`}, {rightToLeft, "b\""}, {plain, "\n}"}},
	} {
		if diff := cmp.Diff(want, newArguments([]byte(args)).segments, cmp.AllowUnexported(segment{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", args, diff)
		}
	}
}

func TestManyMarksAreTextAndThenNothingIsReordered(t *testing.T) {
	hidden := newArguments([]byte(`{"a":"` + strings.Repeat("x\u202e", 100_000) + `"}`))
	if len(hidden.segments) > 2*maxMarked+1 || hidden.Escapes != 100_000 || hidden.forced {
		t.Errorf("%d segments, %d escapes, forced %t", len(hidden.segments), hidden.Escapes, hidden.forced)
	}
	if hebrew := newArguments([]byte(`{"a":["\u05d0"` + strings.Repeat(`,"\u05d0"`, 100_000) + `]}`)); len(hebrew.segments) > 2*maxMarked+1 || !hebrew.forced {
		t.Errorf("%d segments, forced %t", len(hebrew.segments), hebrew.forced)
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("{\"a\u202e\":\"\\u202e\\\\\\\"\u05d0\",\"b\":[1,\"\"]}")
	f.Fuzz(func(t *testing.T, raw string) {
		args, err := tool.ParseArgs([]byte(raw))
		if err != nil {
			return
		}
		a := newArguments(args.Bytes())
		var b strings.Builder
		for _, s := range a.segments {
			b.WriteString(s.text)
			if s.kind == escaped && (len(s.text) != 6 || !strings.HasPrefix(s.text, `\u`)) {
				t.Errorf("%q is marked", s.text)
			}
			if s.kind == plain && strings.ContainsFunc(s.text, readsLeftwards) && !a.forced {
				t.Errorf("%q may reorder what is beside it", s.text)
			}
		}
		if b.String() != a.text {
			t.Errorf("%q is shown as %q", a.text, b.String())
		}
	})
}
