// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// values are what fuzzed schemas are tried on.
var values = []string{
	`{}`, `[]`, `null`, `"x"`, `1`, `{"a":1}`, `{"a":"1","b":[1,"x",null]}`, `{"a":{"a":{"a":null}}}`, `[[1],{"a":2}]`,
	`9007199254740993`,
}

func seed(f *testing.F) {
	f.Helper()
	for _, dir := range []string{"inline", "wrap"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	for _, s := range []string{
		queryInput, ``, `true`, `{"type":"object"}`, `{"$ref":"#"}`, `{"$ref":"#/%zz"}`, `{"$ref":"#/~2"}`, `{"pattern":"^(?=a)(?!b"}`,
		`{"pattern":"\\u{"}`, `{"$id":"::","$ref":"#"}`, `{"items":{"$id":"a"},"contains":{"$id":"a"}}`, `{"$dynamicAnchor":"a","items":{"$dynamicRef":"#a"}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"$ref":"#"}},"items":[{"$id":"#x"}]}`,
		`{"allOf":[{"$ref":"#/allOf/1"},{"$ref":"#/allOf/0"}]}`, `{"$defs":{"$ref":"#"},"$ref":"#/$defs"}`, `{"$vocabulary":{"x":true}}`,
	} {
		f.Add([]byte(s))
	}
}

func FuzzCompile(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, kind := range []schema.Kind{schema.Input, schema.Output} {
			s, err := schema.Compile(raw, kind)
			if err != nil {
				var fault *schema.CompileError
				if !errors.As(err, &fault) || strings.Contains(err.Error(), "urn:toolwharf") || !utf8.ValidString(err.Error()) {
					t.Errorf("%T: %q", err, err)
				}
				continue
			}
			for _, v := range values {
				j := parsed(t, v)
				err := s.Validate(j)
				if sure, accepted := s.Quick(j); sure && !accepted {
					t.Errorf("the shape accepts %s", v)
				}
				var e *tool.Error
				if err != nil && (!errors.As(err, &e) || e.Text == "" || e.Detail != "" || !utf8.ValidString(e.Text)) {
					t.Errorf("%q", err)
				}
			}
		}
	})
}

// sameVerdicts compares what two schemas say of values.
func sameVerdicts(t *testing.T, raw, other []byte, wrap func(json.RawMessage) json.RawMessage) {
	t.Helper()
	before, err := schema.Compile(raw, schema.Output)
	if err != nil {
		return
	}
	after, err := schema.Compile(other, schema.Output)
	if err != nil {
		if strings.Contains(err.Error(), "more than") || strings.Contains(err.Error(), "larger than") || strings.Contains(err.Error(), "too long") {
			return // bounds: what was made is larger
		}
		t.Fatalf("%v\n%s", err, other)
	}
	for _, v := range values {
		was, is := before.ValidateValue(json.RawMessage(v)), after.ValidateValue(wrap(json.RawMessage(v)))
		if (was == nil) != (is == nil) {
			t.Errorf("%s: before %v, after %v\n%s", v, was, is, other)
		}
	}
}

func FuzzInline(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		out := schema.Inline(raw)
		if string(raw) != before {
			t.Error("the given schema was changed")
		}
		if string(schema.Inline(raw)) != string(out) || string(schema.Inline(out)) != string(out) {
			t.Errorf("not deterministic or not idempotent: %s", out)
		}
		sameVerdicts(t, raw, out, func(v json.RawMessage) json.RawMessage { return v })
	})
}

func FuzzWrap(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		out, did := schema.Wrap(raw)
		if string(raw) != before {
			t.Error("the given schema was changed")
		}
		if !did {
			if string(out) != before {
				t.Errorf("not wrapped, but changed: %s", out)
			}
			return
		}
		if _, again := schema.Wrap(out); again {
			t.Errorf("wrapped twice: %s", out)
		}
		sameVerdicts(t, raw, out, schema.WrapValue)
	})
}

func FuzzCoerce(f *testing.F) {
	for _, args := range []string{`{}`, `{"sql":1,"limit":"5","format":null}`, `{"limit":42.0,"x":"[1]"}`, `[]`, `"{}"`} {
		f.Add([]byte(queryInput), []byte(args))
		f.Add([]byte(withArgument(`{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}}}}`)), []byte(args))
	}
	f.Fuzz(func(t *testing.T, raw, args []byte) {
		s, err := schema.Compile(raw, schema.Output)
		if err != nil {
			t.Skip(err)
		}
		asked, err := tool.ParseJSON(args)
		if err != nil {
			t.Skip(err)
		}
		got, err := schema.Coerce(s, asked)
		if err != nil {
			if _, ok := errors.AsType[*tool.Error](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		if _, err := tool.ParseJSON(got.Bytes()); err != nil {
			t.Errorf("%v: %s", err, got.Bytes())
		}
		if s.Validate(asked) == nil && got.Digest() != asked.Digest() {
			t.Errorf("good arguments %s became %s", asked.Bytes(), got.Bytes())
		}
	})
}
