// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func capped(max int, r *tool.Result) error {
	return capResult{max}.Apply(context.Background(), &tool.Case{Spec: &tool.Spec{Name: "orders_get"}}, r)
}

func text(s string) *tool.Text { return &tool.Text{Text: s} }

func TestTextIsCutAndEverythingElseIsRefused(t *testing.T) {
	mark := len(cutMark)
	x := func(n int) string { return strings.Repeat("x", n) }
	picture := &tool.Blob{Kind: "image", Data: make([]byte, 30)} // 40 in base64
	for name, tc := range map[string]struct {
		max  int
		give tool.Result
		want []tool.Content // nil: refused
	}{
		"no bound":               {0, tool.Result{Content: []tool.Content{text(x(5000))}}, []tool.Content{text(x(5000))}},
		"exactly as much":        {100, tool.Result{Content: []tool.Content{text(x(100))}}, []tool.Content{text(x(100))}},
		"one byte more":          {100, tool.Result{Content: []tool.Content{text(x(101))}}, []tool.Content{text(x(100-mark) + cutMark)}},
		"no room for the mark":   {10, tool.Result{Content: []tool.Content{text(x(101))}}, []tool.Content{text(x(10))}},
		"a character is whole":   {3, tool.Result{Content: []tool.Content{text("ab€")}}, []tool.Content{text("ab")}},
		"the rest of the blocks": {100, tool.Result{Content: []tool.Content{text(x(90)), text(x(90)), text(x(5))}}, []tool.Content{text(x(90)), text(x(10)), text("")}},
		"structured content counts": {
			100,
			tool.Result{Structured: json.RawMessage(`"` + x(88) + `"`), Content: []tool.Content{text(x(90))}},
			[]tool.Content{text(x(10))},
		},
		"structured content too large": {10, tool.Result{Structured: json.RawMessage(`"` + x(20) + `"`)}, nil},
		"a picture as large as base64": {40, tool.Result{Content: []tool.Content{picture}}, []tool.Content{picture}},
		"a picture one byte larger":    {39, tool.Result{Content: []tool.Content{picture}}, nil},
		"an embedded text":             {10, tool.Result{Content: []tool.Content{&tool.Embedded{URI: "x:", Text: x(11)}}}, nil},
		"an embedded blob":             {10, tool.Result{Content: []tool.Content{&tool.Embedded{URI: "x:", Blob: make([]byte, 9)}}}, nil},
		"a link":                       {10, tool.Result{Content: []tool.Content{&tool.Link{URI: "x:", Name: "n", Description: x(8)}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(tc.give.Content)
			err := capped(tc.max, &tc.give)
			if tc.want == nil {
				var e *tool.Error
				if !errors.As(err, &e) || e.Kind != tool.ResultTooLarge || e.Code != "result_too_large" {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tc.give.Content); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if name == "one byte more" && given[0].(*tool.Text).Text != x(101) {
				t.Error("a block was changed that may be somebody else's")
			}
		})
	}
}

func TestACutTextKeepsItsAnnotations(t *testing.T) {
	r := &tool.Result{Content: []tool.Content{&tool.Text{Text: "0123456789", Annotations: &tool.Annotations{LastModified: "today"}}}}
	if err := capped(5, r); err != nil {
		t.Fatal(err)
	}
	if got := r.Content[0].(*tool.Text); got.Annotations == nil || got.Text != "01234" {
		t.Errorf("cut to %+v", got)
	}
}

// blocks of a result, with characters of one to four bytes.
var blocks = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) tool.Content {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return &tool.Blob{Kind: "image", Data: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data")}
	case 1:
		return &tool.Embedded{URI: "x:", Text: rapid.String().Draw(t, "text")}
	default:
		return text(rapid.StringOfN(rapid.RuneFrom([]rune("aä€😀\n")), 0, 60, -1).Draw(t, "text"))
	}
}), 0, 8)

func TestAResultIsNeverLargerThanItsBoundAndNeverHasHalfACharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := blocks.Draw(t, "blocks")
		max := rapid.IntRange(1, 300).Draw(t, "max")
		r := &tool.Result{Content: slices.Clone(given)}
		if rapid.Bool().Draw(t, "structured") {
			r.Structured = json.RawMessage(`"` + strings.Repeat("x", rapid.IntRange(0, 200).Draw(t, "size")) + `"`)
		}
		fixed, all := len(r.Structured), len(r.Structured) // bytes of what cannot be cut, and of everything
		onlyText := r.Structured == nil
		for _, b := range given {
			all += size(b)
			if _, is := b.(*tool.Text); !is {
				fixed += size(b)
				onlyText = false
			}
		}
		err := capped(max, r)
		switch {
		case err != nil && (onlyText || all <= max):
			t.Fatalf("refused though it could be given: %v", err)
		case err == nil && fixed > max:
			t.Fatal("given though it is too large")
		case err != nil:
			return
		}
		left := len(r.Structured)
		for i, b := range r.Content {
			left += size(b)
			cut, is := b.(*tool.Text)
			if !is {
				if b != given[i] {
					t.Fatal("what cannot be cut was changed")
				}
				continue
			}
			was := given[i].(*tool.Text).Text
			if !utf8.ValidString(cut.Text) {
				t.Fatalf("half a character in %q", cut.Text)
			}
			if cut.Text != was && !strings.HasPrefix(was, strings.TrimSuffix(cut.Text, cutMark)) {
				t.Fatalf("%q became %q", was, cut.Text)
			}
			if all <= max && cut.Text != was {
				t.Fatal("cut though there was room")
			}
		}
		if left > max {
			t.Fatalf("%d bytes given, at most %d", left, max)
		}
	})
}

func FuzzCutText(f *testing.F) {
	f.Add("0123456789", 5)
	f.Add("ab€", 3)
	f.Add(strings.Repeat("😀", 40), 99)
	f.Add("\x80\x80\x80\x80", 2)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, s string, max int) {
		if max < 0 || max >= len(s) {
			t.Skip("not to be cut")
		}
		got := cutText(s, max)
		if len(got) > max {
			t.Errorf("%d bytes, at most %d", len(got), max)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("half a character in %q", got)
		}
		if !strings.HasPrefix(s, strings.TrimSuffix(got, cutMark)) {
			t.Errorf("%q is not the beginning of %q", got, s)
		}
		if marked := strings.HasSuffix(got, cutMark); max >= len(cutMark) && !marked {
			t.Errorf("%q does not say that it was cut", got)
		}
		if utf8.ValidString(s) && len(got) < max-3 {
			t.Errorf("cut to %d bytes where %d had room", len(got), max)
		}
	})
}
