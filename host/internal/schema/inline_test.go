// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/schema"
)

var update = flag.Bool("update", false, "write the golden files")

// golden runs f on each testdata/<dir>/*.json and compares what it returns with
// the file of the same name that ends in .golden.
func golden(t *testing.T, dir string, f func(*testing.T, json.RawMessage) json.RawMessage) {
	t.Helper()
	inputs, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, input := range inputs {
		t.Run(strings.ReplaceAll(strings.TrimSuffix(filepath.Base(input), ".json"), "-", " "), func(t *testing.T) {
			raw, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, f(t, raw), "", "  "); err != nil {
				t.Fatal(err)
			}
			path := strings.TrimSuffix(input, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(path, append(bytes.TrimSpace(got.Bytes()), '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(bytes.TrimSpace(want)), string(bytes.TrimSpace(got.Bytes()))); diff != "" {
				t.Errorf("run with -update if this is right (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInline(t *testing.T) {
	golden(t, "inline", func(t *testing.T, raw json.RawMessage) json.RawMessage {
		t.Helper()
		out := schema.Inline(raw)
		if again := schema.Inline(out); !bytes.Equal(again, out) {
			t.Errorf("not idempotent:\n%s\n%s", out, again)
		}
		return out
	})
}

func TestInlineReturnsAsGiven(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	for name, raw := range map[string]string{
		"nothing":                      ``,
		"no JSON":                      `{"title":`,
		"no schema":                    `[{"title":"x"}]`,
		"another dialect":              `{"$schema":"https://example.com/","title":"x"}`,
		"what refers to itself":        `{"title":"x","properties":{"a":{"$ref":"#"}}}`,
		"definitions that do, unused":  `{"title":"x","$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}}`,
		"a remote reference":           `{"title":"x","properties":{"a":{"$ref":"https://example.com/"}}}`,
		"a reference to nothing":       `{"title":"x","properties":{"a":{"$ref":"#/$defs/a"}}}`,
		"a reference to no schema":     `{"title":"x","properties":{"a":{"$ref":"#/title"}}}`,
		"a reference that is no text":  `{"title":"x","properties":{"a":{"$ref":1}}}`,
		"a dynamic reference":          `{"title":"x","$dynamicAnchor":"n","$defs":{"a":{"$dynamicRef":"#n"}}}`,
		"references in an embedded id": `{"title":"x","properties":{"a":{"$id":"https://example.com/","items":{"$ref":"#/$defs/b"},"$defs":{"b":true}}},"$defs":{"b":true}}`,
		"too many values":              bomb(20),
		"too many bytes": `{"properties":{` + properties(20, `{"$ref":"#/$defs/long"}`) +
			`},"$defs":{"long":{"description":"` + long + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if out := schema.Inline(json.RawMessage(raw)); string(out) != raw {
				t.Errorf("got %.200s", out)
			}
		})
	}
}

func TestAnInlinedSchemaAcceptsExactlyWhatTheOriginalAccepts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := json.RawMessage(randomSchema(rapid.Bool().Draw(t, "recursive")).Draw(t, "schema"))
		before, err := schema.Compile(raw, schema.Output)
		if err != nil {
			t.Skip(err)
		}
		inlined := schema.Inline(raw)
		after, err := schema.Compile(inlined, schema.Output)
		if err != nil {
			t.Fatalf("%v\n%s", err, inlined)
		}
		if again := schema.Inline(inlined); !bytes.Equal(inlined, again) {
			t.Fatalf("not idempotent:\n%s\n%s", inlined, again)
		}
		for range 5 {
			v := json.RawMessage(randomValue(3).Draw(t, "value"))
			was, is := before.ValidateValue(v), after.ValidateValue(v)
			if (was == nil) != (is == nil) {
				t.Fatalf("%s\nbefore: %v\nafter: %v\n%s", v, was, is, inlined)
			}
		}
	})
}

func TestAnInlinedSchemaHasNoReferencesTitlesAndDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := json.RawMessage(randomSchema(false).Draw(t, "schema"))
		if _, err := schema.Compile(raw, schema.Output); err != nil {
			t.Skip(err)
		}
		inlined := schema.Inline(raw)
		for _, gone := range []string{`"$ref"`, `"title":"words"`, `"title":"T"`, `#/`, `"d0"`} {
			if bytes.Contains(inlined, []byte(gone)) {
				t.Fatalf("%s in %s", gone, inlined)
			}
		}
	})
}
