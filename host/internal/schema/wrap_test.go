// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/schema"
)

func TestWrap(t *testing.T) {
	golden(t, "wrap", func(t *testing.T, raw json.RawMessage) json.RawMessage {
		t.Helper()
		out, did := schema.Wrap(raw)
		if !did {
			t.Error("not wrapped")
		}
		if _, err := schema.Compile(out, schema.Output); err != nil {
			t.Error(err)
		}
		if again, did := schema.Wrap(out); did || string(again) != string(out) {
			t.Errorf("wrapped twice: %s", again)
		}
		return out
	})
}

func TestWrapReturnsAsGiven(t *testing.T) {
	for name, raw := range map[string]string{
		"an object schema":            `{"type":"object","properties":{"a":{"type":"string"}}}`,
		"a list of object":            `{"type":["object"]}`,
		"a reference to one":          `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`,
		"nothing":                     ``,
		"no JSON":                     `{"type":`,
		"no schema":                   `7`,
		"a schema of unknown dialect": `{"$schema":"https://example.com/","type":"array"}`,
	} {
		t.Run(name, func(t *testing.T) {
			out, did := schema.Wrap(json.RawMessage(raw))
			if did || string(out) != raw {
				t.Errorf("got %s", out)
			}
		})
	}
}

func TestAWrappedSchemaAcceptsExactlyTheWrappedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := json.RawMessage(randomSchema(rapid.Bool().Draw(t, "recursive")).Draw(t, "schema"))
		plain, err := schema.Compile(raw, schema.Output)
		if err != nil {
			t.Skip(err)
		}
		out, did := schema.Wrap(raw)
		if !did {
			t.Skip("an object")
		}
		wrapped, err := schema.Compile(out, schema.Output)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for range 5 {
			v := json.RawMessage(randomValue(3).Draw(t, "value"))
			was, is := plain.ValidateValue(v), wrapped.ValidateValue(schema.WrapValue(v))
			if (was == nil) != (is == nil) {
				t.Fatalf("%s\nplain: %v\nwrapped: %v\n%s", v, was, is, out)
			}
		}
		for _, v := range []string{`{}`, `[]`, `null`} {
			if wrapped.ValidateValue(json.RawMessage(v)) == nil {
				t.Fatalf("accepts %s", v)
			}
		}
	})
}
