// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/schema"
)

func TestCompileAccepts(t *testing.T) {
	for name, tc := range map[string]struct {
		raw  string
		kind schema.Kind
	}{
		"no input schema at all":                  {"", schema.Input},
		"no output schema at all":                 {"", schema.Output},
		"an object without anything":              {`{"type":"object"}`, schema.Input},
		"an input root without a type":            {`{"properties":{"a":{}}}`, schema.Input},
		"an empty input root":                     {`{}`, schema.Input},
		"a type that is a list of object":         {`{"type":["object"]}`, schema.Input},
		"a root that refers to an object":         {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, schema.Input},
		"a draft-07 root that refers to one":      {`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"type":"object"}}}`, schema.Input},
		"dialect 2020-12":                         {`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, schema.Input},
		"dialect 2020-12, over http, with a hash": {`{"$schema":"http://json-schema.org/draft/2020-12/schema#","type":"object"}`, schema.Input},
		"dialect draft-07 with tuples":            {`{"$schema":"http://json-schema.org/draft-07/schema","type":"object","properties":{"a":{"items":[{"type":"string"}]}}}`, schema.Input},
		"an identity at the root":                 {`{"$id":"https://example.com/a.json","type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":true}}`, schema.Input},
		"an identity further down, alone":         {`{"type":"object","properties":{"a":{"$id":"https://example.com/a.json","type":"string"}}}`, schema.Input},
		"a reference by name":                     {`{"type":"object","properties":{"a":{"$ref":"#here"}},"$defs":{"b":{"$anchor":"here"}}}`, schema.Input},
		"a draft-07 reference by name":            {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#here"}},"definitions":{"b":{"$id":"#here"}}}`, schema.Input},
		"a dynamic reference":                     {`{"type":"object","$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}}}`, schema.Input},
		"a reference with escapes":                {`{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y~0%20z"}},"$defs":{"x/y~ z":true}}`, schema.Input},
		"a reference into an unknown keyword":     {`{"type":"object","properties":{"a":{"$ref":"#/components/b"}},"components":{"b":{"type":"string"}}}`, schema.Input},
		"a schema that refers to itself":          {`{"type":"object","properties":{"a":{"$ref":"#"}}}`, schema.Input},
		"an array as output":                      {`{"type":"array"}`, schema.Output},
		"true as output":                          {`true`, schema.Output},
		"$ref as data":                            {`{"type":"object","properties":{"a":{"const":{"$ref":"https://example.com/"}}}}`, schema.Input},
		"$ref as the name of a property":          {`{"type":"object","properties":{"$ref":{"type":"string"}}}`, schema.Input},
		"a lookahead at the beginning":            {`{"type":"object","properties":{"a":{"pattern":"^(?!\\.)(?=.*[A-Z]).{8,}$"}}}`, schema.Input},
		"\\u in a regex":                          {`{"type":"object","properties":{"a":{"pattern":"^[\\u00e4\\u{1F600}]$"}}}`, schema.Input},
		"a count that no int holds":               {`{"type":"object","properties":{"a":{"maxLength":18446744073709551616}}}`, schema.Input},
		"format, unknown":                         {`{"type":"object","properties":{"a":{"format":"planet"}}}`, schema.Input},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := schema.Compile(json.RawMessage(tc.raw), tc.kind); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	const input, output = schema.Input, schema.Output
	for name, tc := range map[string]struct {
		raw           string
		kind          schema.Kind
		pointer, text string
	}{
		"an array as input":               {`{"type":"array"}`, input, "", `the root must say "type": "object"`},
		"an object or null as input":      {`{"type":["object","null"]}`, input, "", `must say "type": "object"`},
		"true as input":                   {`true`, input, "", `must say "type": "object"`},
		"a root that refers to an array":  {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"array"}}}`, input, "", `must say "type": "object"`},
		"a root that refers to itself":    {`{"$ref":"#"}`, input, "", `the schema is defined by itself`},
		"a number":                        {`1`, output, "", "a schema is an object, true or false"},
		"null":                            {`null`, output, "", "a schema is an object, true or false"},
		"no JSON":                         {`{"type":`, input, "", "not valid JSON: unexpected end of JSON at offset 8"},
		"a duplicate key":                 {`{"type":"object","type":"array"}`, input, "", `not valid JSON: duplicate key "type" at offset 17`},
		"a duplicate key spelled twice":   {`{"type":"object","\u0074ype":"array"}`, input, "", "duplicate key"},
		"too deep":                        {strings.Repeat(`{"not":`, 65) + `{}` + strings.Repeat(`}`, 65), output, "", "nested deeper than 64"},
		"another dialect":                 {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, input, "/$schema", `unknown dialect "http://json-schema.org/draft-04/schema#"; 2020-12 and draft-07 are read`},
		"another dialect further down":    {`{"type":"object","properties":{"a":{"$schema":"https://example.com/"}}}`, input, "/properties/a/$schema", "unknown dialect"},
		"a dialect that is no text":       {`{"$schema":7,"type":"object"}`, input, "/$schema", "unknown dialect 7"},
		"a remote reference":              {`{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}`, input, "/properties/a/$ref", `reference "https://example.com/a.json" leads out of the schema; nothing is fetched`},
		"a file":                          {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, input, "/properties/a/$ref", "nothing is fetched"},
		"a relative file":                 {`{"type":"object","properties":{"a":{"$ref":"a.json#/b"}}}`, input, "/properties/a/$ref", "nothing is fetched"},
		"the metaschema":                  {`{"type":"object","properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, input, "/properties/a/$ref", "nothing is fetched"},
		"a remote dynamic reference":      {`{"type":"object","properties":{"a":{"$dynamicRef":"https://example.com/#a"}}}`, input, "/properties/a/$dynamicRef", "nothing is fetched"},
		"a remote recursive reference":    {`{"type":"object","properties":{"a":{"$recursiveRef":"https://example.com/#a"}}}`, input, "/properties/a/$recursiveRef", "nothing is fetched"},
		"a reference to nothing":          {`{"type":"object","properties":{"a/b":{"$ref":"#/$defs/a"}}}`, input, "/properties/a~1b/$ref", `reference "#/$defs/a" leads nowhere`},
		"an unknown name":                 {`{"type":"object","properties":{"a":{"$ref":"#a"}}}`, input, "/properties/a/$ref", "leads nowhere"},
		"a reference to a text":           {`{"type":"object","properties":{"a":{"$ref":"#/type"}}}`, input, "/properties/a/$ref", "leads nowhere"},
		"an index with a leading zero":    {`{"type":"object","allOf":[true],"properties":{"a":{"$ref":"#/allOf/00"}}}`, input, "/properties/a/$ref", "leads nowhere"},
		"a fault behind a reference":      {`{"type":"object","properties":{"a":{"$ref":"#/x/y"}},"x":{"y":{"pattern":"("}}}`, input, "/x/y/pattern", "bad regex"},
		"embedded with references":        {`{"type":"object","properties":{"a":{"$id":"https://example.com/","items":{"$ref":"#"}}}}`, input, "/properties/a/$id", "embedded schema"},
		"a circle":                        {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`, input, "/$defs/a", "the schema is defined by itself"},
		"a bad regex":                     {`{"type":"object","properties":{"a":{"pattern":"a("}}}`, input, "/properties/a/pattern", `bad regex "a(": missing closing )`},
		"a bad regex for names":           {`{"type":"object","patternProperties":{"[":{}}}`, input, "/patternProperties/[", "bad regex"},
		"a regex with lookbehind":         {`{"type":"object","properties":{"a":{"pattern":"(?<!a)b"}}}`, input, "/properties/a/pattern", "lookaround that cannot be checked in bounded time"},
		"a regex with a back reference":   {`{"type":"object","properties":{"a":{"pattern":"(a)\\1"}}}`, input, "/properties/a/pattern", "bad regex"},
		"a lookahead in an alternative":   {`{"type":"object","properties":{"a":{"pattern":"^(?!a)b|c"}}}`, input, "/properties/a/pattern", "lookahead in an alternative"},
		"a long regex":                    {`{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("a", 1025) + `"}}}`, input, "/properties/a/pattern", "regex longer than 1024 bytes"},
		"a regex that becomes large":      {`{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat(".{900}", 30) + `"}}}`, input, "/properties/a/pattern", "too large"},
		"an unknown type":                 {`{"type":"object","properties":{"a":{"type":"text"}}}`, input, "/properties/a/type", `must be one of "array", "boolean"`},
		"a keyword of the wrong type":     {`{"type":"object","properties":{"a":{"minLength":"1"}}}`, input, "/properties/a/minLength", "must be an integer"},
		"a wrong keyword in a definition": {`{"type":"object","$defs":{"a":{"required":"x"}}}`, input, "/$defs/a/required", "must be an array"},
		"tuples in 2020-12":               {`{"type":"object","properties":{"a":{"items":[{}]}}}`, input, "/properties/a/items", "must be true or false or an object"},
		"too many subschemas":             {`{"type":"object","properties":{` + properties(2_000, `{}`) + `}}`, input, "/properties/p1999", "more than 2000 subschemas"},
		"too large":                       {`{"type":"object","description":"` + strings.Repeat("a", schema.MaxBytes) + `"}`, input, "", "larger than 65536 bytes"},
		"a bomb of references":            {bomb(20), input, "", "more than 10000 values once its references are replaced"},
		"a list of ten thousand":          {`{"type":"object","enum":[` + strings.Repeat("0,", 10_000) + `0]}`, input, "", "more than 10000 values"},
		"names that multiply":             {deepNames(), input, "", "names of nested schemas are too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.Compile(json.RawMessage(tc.raw), tc.kind)
			var fault *schema.CompileError
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a *CompileError", err)
			}
			if !strings.HasPrefix(fault.Pointer, tc.pointer) || tc.pointer == "" && fault.Pointer != "" && name != "names that multiply" {
				t.Errorf("pointer %q, want %q", fault.Pointer, tc.pointer)
			}
			if !strings.Contains(fault.Error(), tc.text) {
				t.Errorf("text %q, want in it %q", fault.Error(), tc.text)
			}
			if len(fault.Error()) > 1200 || strings.Contains(fault.Error(), "urn:") {
				t.Errorf("text %q", fault.Error())
			}
		})
	}
}

func TestBoundsOfASchemaAreInclusive(t *testing.T) {
	for name, raw := range map[string]string{
		"2000 subschemas": `{"type":"object","properties":{` + properties(1_999, `{}`) + `}}`,
		"64 KiB":          `{"type":"object","description":"` + strings.Repeat("a", schema.MaxBytes-35) + `"}`,
		"10000 values":    `{"type":"object","enum":[` + strings.Repeat("0,", 9_996) + `0]}`, // and root, type, enum
		"1024 bytes":      `{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("a", 1024) + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := schema.Compile(json.RawMessage(raw), schema.Input); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRecursiveDefinitionsCountOnce(t *testing.T) {
	// Thirty definitions, each of which refers to all: expanded path by path
	// this would be 30! values.
	defs := make([]string, 30)
	for i := range defs {
		refs := make([]string, 0, len(defs))
		for j := range defs {
			refs = append(refs, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d%d"}`, j, j))
		}
		defs[i] = fmt.Sprintf(`"d%d":{"properties":{%s}}`, i, strings.Join(refs, ","))
	}
	raw := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	if _, err := schema.Compile(json.RawMessage(raw), schema.Input); err != nil {
		t.Error(err)
	}
}

// properties returns n properties with this schema.
func properties(n int, sub string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"p%d":%s`, i, sub)
	}
	return b.String()
}

// bomb returns a schema that doubles n times when its references are replaced.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

// deepNames returns a small schema of which the locations are large together.
func deepNames() string {
	name := strings.Repeat("n", 1000)
	open := strings.Repeat(`{"properties":{"`+name+`":`, 20)
	return open + `{"properties":{` + properties(1_500, `{}`) + `}}` + strings.Repeat(`}}`, 20)
}
