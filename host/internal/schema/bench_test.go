// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const queryInput = `{
	"type": "object",
	"properties": {
		"sql": {"type": "string", "minLength": 1},
		"limit": {"type": "integer", "minimum": 1, "maximum": 1000},
		"format": {"type": "string", "enum": ["json", "csv"]}
	},
	"required": ["sql"],
	"additionalProperties": false
}`

func BenchmarkValidate(b *testing.B) {
	args := `{"sql": "select id, total from orders where total > 10", "limit": 10, "format": "json"}`
	for _, bm := range []struct{ name, schema, args string }{
		{"three arguments", queryInput, args},
		{"three arguments, one of them with a pattern", strings.Replace(queryInput, `"minLength": 1`, `"pattern": "^select"`, 1), args},
		{"three arguments, refused", queryInput, `{"sql": "select 1", "limit": "ten"}`},
		{"an object that may be anything", `{"type": "object"}`, args},
		{
			"a thousand numbers", `{"type": "object", "properties": {"v": {"type": "array", "items": {"type": "number"}}}}`,
			`{"v": [0.5` + strings.Repeat(`, -1.25`, 999) + `]}`,
		},
	} {
		b.Run(bm.name, func(b *testing.B) {
			s, err := schema.Compile(json.RawMessage(bm.schema), schema.Input)
			if err != nil {
				b.Fatal(err)
			}
			j, err := tool.ParseJSON([]byte(bm.args))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Validate(j)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Compile(json.RawMessage(queryInput), schema.Input); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInline(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		schema.Inline(json.RawMessage(queryInput))
	}
}
