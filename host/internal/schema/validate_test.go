// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func compile(tb testing.TB, raw string, kind schema.Kind) *schema.Schema {
	tb.Helper()
	s, err := schema.Compile(json.RawMessage(raw), kind)
	if err != nil {
		tb.Fatalf("%v\n%s", err, raw)
	}
	return s
}

func parsed(tb testing.TB, raw string) tool.JSON {
	tb.Helper()
	j, err := tool.ParseJSON([]byte(raw))
	if err != nil {
		tb.Fatalf("%v\n%s", err, raw)
	}
	return j
}

// withArgument returns an input schema of one argument, a.
func withArgument(sub string) string { return `{"type":"object","properties":{"a":` + sub + `}}` }

func TestNumbersAreExact(t *testing.T) {
	for _, tc := range []struct {
		sub, value string
		valid      bool
	}{
		{`{"const":9007199254740993}`, `9007199254740993`, true},
		{`{"const":9007199254740993}`, `9007199254740992`, false},
		{`{"enum":[9007199254740992]}`, `9007199254740993`, false},
		{`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"maximum":9007199254740993}`, `9007199254740993`, true},
		{`{"exclusiveMaximum":9007199254740993}`, `9007199254740992`, true},
		{`{"exclusiveMaximum":9007199254740993}`, `9007199254740993`, false},
		{`{"exclusiveMinimum":9007199254740992}`, `9007199254740993`, true},
		{`{"exclusiveMinimum":0}`, `0`, false},
		{`{"exclusiveMinimum":0}`, `1`, true},
		{`{"exclusiveMinimum":-1}`, `-1`, false},
		{`{"minimum":-5,"maximum":5}`, `-5`, true},
		{`{"minimum":-5,"maximum":5}`, `-6`, false},
		{`{"minimum":-5,"maximum":5}`, `6`, false},
		{`{"const":1.1}`, `1.10`, true},
		{`{"const":1.10}`, `1.1`, true},
		{`{"const":1.1}`, `1.1000000000000000000001`, false},
		{`{"maximum":1.1}`, `1.1000000000000000000001`, false},
		{`{"const":1e400}`, `1e400`, true},
		{`{"const":1e400}`, `10e399`, true},
		{`{"const":1e400}`, `1e399`, false},
		{`{"minimum":1e400}`, `1e400`, true},
		{`{"minimum":1e400}`, `1e399`, false},
		{`{"type":"integer"}`, `1e400`, true},
		{`{"type":"integer"}`, `1e-400`, false},
		{`{"type":"integer"}`, `1.0`, true},
		{`{"type":"integer"}`, `1.5`, false},
		{`{"type":"integer"}`, `123456789012345678901234567890`, true},
		{`{"type":"integer"}`, `123456789012345678901234567890.5`, false},
		{`{"multipleOf":0.01}`, `0.07`, true},
		{`{"multipleOf":0.01}`, `0.075`, false},
		{`{"multipleOf":3}`, `9007199254740993`, true},
		{`{"multipleOf":3}`, `9007199254740992`, false},
		{`{"uniqueItems":true}`, `[1, 1.0]`, false},
		{`{"uniqueItems":true}`, `[9007199254740992, 9007199254740993]`, true},
		{`{"maximum":9223372036854775807}`, `9223372036854775808`, false},
		{`{"maximum":9223372036854775807}`, `9223372036854775807`, true},
		{`{"minimum":-9223372036854775808}`, `-9223372036854775809`, false},
	} {
		t.Run(tc.sub+" and "+tc.value, func(t *testing.T) {
			s := compile(t, withArgument(tc.sub), schema.Input)
			if err := s.Validate(parsed(t, `{"a":`+tc.value+`}`)); (err == nil) != tc.valid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	const query = `{"type":"object","additionalProperties":false,"required":["sql"],"properties":{
		"sql":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":1000},"offset":{"type":"integer"}}}`
	const filter = `{"type":"object","properties":{"filter":{"type":"object","additionalProperties":false,"required":["op"],"properties":{
		"op":{"enum":["and","or"]},"items":{"type":"array","items":{"type":"object","properties":{"price":{"type":"number"}}}}}}}}`
	const shapes = `{"type":"object","properties":{"shape":{"oneOf":[
		{"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
		{"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]}]}}}`
	for name, tc := range map[string]struct{ schema, args, want string }{
		"a value of the wrong type":       {query, `{"sql":"x","limit":"ten"}`, `argument "limit": must be an integer, is "ten"`},
		"a fraction":                      {query, `{"sql":"x","limit":1.50}`, `argument "limit": must be an integer, is 1.50`},
		"null":                            {query, `{"sql":null}`, `argument "sql": must be a string, is null`},
		"too small":                       {query, `{"sql":"x","limit":0}`, `argument "limit": must be at least 1, is 0`},
		"too large":                       {query, `{"sql":"x","limit":1001}`, `argument "limit": must be at most 1000, is 1001`},
		"too short":                       {query, `{"sql":""}`, `argument "sql": must be at least 1 character long, is ""`},
		"missing":                         {query, `{}`, `missing argument "sql"`},
		"misspelled":                      {query, `{"sql":"x","lmit":3}`, `unknown argument "lmit" (known: sql, limit, offset)`},
		"missing, unknown and wrong":      {query, `{"lmit":3,"limit":true}`, `missing argument "sql"; unknown argument "lmit" (known: sql, limit, offset); argument "limit": must be an integer, is true`},
		"a tool without arguments":        {``, `{"a":1}`, `unknown argument "a" (known: none)`},
		"nested missing":                  {filter, `{"filter":{}}`, `missing argument "filter.op"`},
		"nested unknown":                  {filter, `{"filter":{"op":"or","x":1}}`, `unknown argument "filter.x" (known: op, items)`},
		"nested in an array":              {filter, `{"filter":{"op":"or","items":[{},{},{"price":"1"}]}}`, `argument "filter.items[2].price": must be a number, is "1"`},
		"not in the list":                 {filter, `{"filter":{"op":"xor"}}`, `argument "filter.op": must be one of "and", "or", is "xor"`},
		"an array in place of an object":  {filter, `{"filter":[1,2]}`, `argument "filter": must be an object, is [1,2]`},
		"const":                           {withArgument(`{"const":{"x":[1]}}`), `{"a":{"x":[2]}}`, `argument "a": must be {"x":[1]}, is {"x":[2]}`},
		"pattern":                         {withArgument(`{"pattern":"^[<a]+$"}`), `{"a":"b"}`, `argument "a": must match the pattern "^[<a]+$", is "b"`},
		"two types":                       {withArgument(`{"type":["string","null","integer"]}`), `{"a":true}`, `argument "a": must be an integer or a string or null, is true`},
		"anyOf of types":                  {withArgument(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`), `{"a":"x"}`, `argument "a": must be an integer or null, is "x"`},
		"anyOf, right type, too small":    {withArgument(`{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]}`), `{"a":0}`, `argument "a": must be at least 1, is 0`},
		"anyOf of constants":              {withArgument(`{"anyOf":[{"const":"a"},{"const":"b"}]}`), `{"a":"c"}`, `argument "a": must be one of "a", "b", is "c"`},
		"a tagged form, missing a member": {shapes, `{"shape":{"kind":"square"}}`, `missing argument "shape.side"`},
		"a tagged form, wrong member":     {shapes, `{"shape":{"kind":"circle","radius":"r"}}`, `argument "shape.radius": must be a number, is "r"`},
		"an unknown tag":                  {shapes, `{"shape":{"kind":"blob"}}`, `argument "shape.kind": must be one of "circle", "square", is "blob"`},
		"no form at all":                  {withArgument(`{"anyOf":[{"minLength":3},{"pattern":"x"}]}`), `{"a":"b"}`, `argument "a": must match one of its allowed forms, is "b"`},
		"two forms at once":               {withArgument(`{"oneOf":[{"type":"integer"},{"type":"number"}]}`), `{"a":1}`, `argument "a": must match only one of its allowed forms, is 1`},
		"not":                             {withArgument(`{"not":{"type":"string"}}`), `{"a":"x"}`, `argument "a": must not be of the form that is excluded, is "x"`},
		"through references":              {`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"allOf":[{"$ref":"#/$defs/y"}]},"y":{"type":"string"}}}`, `{"a":1}`, `argument "a": must be a string, is 1`},
		"unknown behind a reference":      {`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"properties":{"p/q":true},"additionalProperties":false}}}`, `{"a":{"b":1}}`, `unknown argument "a.b" (known: p/q)`},
		"unevaluated":                     {`{"type":"object","allOf":[{"properties":{"b":true}}],"properties":{"a":true},"unevaluatedProperties":false}`, `{"c":1}`, `unknown argument "c" (known: a)`},
		"needed with another":             {`{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1}`, `missing argument "b" (needed with "a")`},
		"a draft-07 dependency":           {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":["b"]}}`, `{"a":1}`, `missing argument "b" (needed with "a")`},
		"a bad name":                      {`{"type":"object","propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`, `unknown argument "A": it must match the pattern "^[a-z]+$"`},
		"a false property":                {withArgument(`false`), `{"a":1}`, `argument "a": must not be given, is 1`},
		"too few items":                   {withArgument(`{"minItems":2}`), `{"a":[1]}`, `argument "a": must have at least 2 items, is [1]`},
		"too many items":                  {withArgument(`{"maxItems":1}`), `{"a":[1,2]}`, `argument "a": must have at most 1 item, is [1,2]`},
		"an item after the tuple":         {withArgument(`{"prefixItems":[true],"items":false}`), `{"a":[1,2]}`, `argument "a[1]": is one item too many, is 2`},
		"a draft-07 tuple":                {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"items":[true],"additionalItems":false}}}`, `{"a":[1,2]}`, `argument "a": has 1 item too many, is [1,2]`},
		"the same item twice":             {withArgument(`{"uniqueItems":true}`), `{"a":["x","y","x"]}`, `argument "a": must not repeat items (0 and 2 are equal), is ["x","y","x"]`},
		"contains":                        {withArgument(`{"contains":{"const":1}}`), `{"a":[]}`, `argument "a": must contain an item of the required form, is []`},
		"minContains":                     {withArgument(`{"contains":{"const":1},"minContains":2}`), `{"a":[1]}`, `argument "a": must contain at least 2 items of the required form, is [1]`},
		"maxContains":                     {withArgument(`{"contains":{"const":1},"maxContains":1}`), `{"a":[1,1]}`, `argument "a": must contain at most 1 item of the required form, is [1,1]`},
		"too few members":                 {withArgument(`{"minProperties":1}`), `{"a":{}}`, `argument "a": must have at least 1 member, is {}`},
		"too many members":                {withArgument(`{"maxProperties":0}`), `{"a":{"x":1}}`, `argument "a": must have at most 0 members, is {"x":1}`},
		"exclusive bounds":                {withArgument(`{"exclusiveMinimum":0,"exclusiveMaximum":0.1}`), `{"a":0.1}`, `argument "a": must be less than 0.1, is 0.1`},
		"no multiple":                     {withArgument(`{"multipleOf":0.25}`), `{"a":0.3}`, `argument "a": must be a multiple of 0.25, is 0.3`},
		"a name that needs quotes":        {withArgument(`{"properties":{"x.y z":{"type":"string"}}}`), `{"a":{"x.y z":1}}`, `argument "a["x.y z"]": must be a string, is 1`},
		"an index by name":                {withArgument(`{"properties":{"0":{"type":"string"}}}`), `{"a":{"0":1}}`, `argument "a.0": must be a string, is 1`},
		"an array as arguments":           {query, `[]`, `the arguments must be an object, is []`},
	} {
		t.Run(name, func(t *testing.T) {
			j := parsed(t, tc.args)
			s := compile(t, tc.schema, schema.Input)
			for range 20 { // the library walks maps
				var e *tool.Error
				if err := s.Validate(j); !errors.As(err, &e) {
					t.Fatalf("got %v", err)
				}
				if e.Kind != tool.ArgsInvalid || e.Code != "invalid_args" || e.Sent {
					t.Errorf("got %#v", e)
				}
				if e.Text != tc.want {
					t.Fatalf("got  %s\nwant %s", e.Text, tc.want)
				}
			}
		})
	}
}

func TestErrorTextsAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	names, values := make([]string, 0, 200), make([]string, 0, 200)
	for i := range 200 {
		names = append(names, fmt.Sprintf(`"name%d":{}`, i))
		values = append(values, fmt.Sprintf(`"value%d"`, i))
	}
	for name, tc := range map[string]struct{ schema, args, want string }{
		"a long value":     {withArgument(`{"type":"integer"}`), `{"a":"` + long + `"}`, `is "` + strings.Repeat("ä", 32)},
		"a long array":     {withArgument(`{"type":"integer"}`), `{"a":[` + strings.Repeat("1,", 10_000) + `1]}`, "is [1,1"},
		"a long object":    {withArgument(`{"type":"integer"}`), `{"a":{"` + long + `":1}}`, `is {"ää`},
		"a long name":      {``, `{"` + long + `":1}`, `unknown argument "ää`},
		"a long number":    {withArgument(`{"type":"string"}`), `{"a":` + strings.Repeat("1", 1024) + `}`, "is 111"},
		"a long bound":     {withArgument(`{"minimum":1e400}`), `{"a":1}`, "must be at least 1000"},
		"many names":       {`{"type":"object","additionalProperties":false,"properties":{` + strings.Join(names, ",") + `}}`, `{"x":1}`, "(known: name0, name1, "},
		"many choices":     {withArgument(`{"enum":[` + strings.Join(values, ",") + `]}`), `{"a":1}`, `must be one of "value0", "value1"`},
		"many faults":      {withArgument(`{"items":{"type":"string"}}`), `{"a":[` + strings.Repeat("1,", 11) + `1]}`, "; and 7 more"},
		"many unknown":     {``, `{` + strings.ReplaceAll(strings.Join(names, ","), "{}", "1") + `}`, "; and 195 more"},
		"too many":         {withArgument(`{"items":{"type":"string"}}`), `{"a":[` + strings.Repeat("1,", 9_999) + `1]}`, "more"},
		"a deep path":      {`{"type":"object","additionalProperties":{"$ref":"#/$defs/x"},"$defs":{"x":{"type":"object","additionalProperties":{"$ref":"#/$defs/x"}}}}`, strings.Repeat(`{"`+long[:100]+`":`, 60) + "1" + strings.Repeat("}", 60), "must be an object"},
		"control and bidi": {withArgument(`{"type":"integer"}`), "{\"a\":\"x\u202ey\u0085\\n\\u0000\"}", `is "x\u202ey\u0085\n\u0000"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := compile(t, tc.schema, schema.Input).Validate(parsed(t, tc.args))
			var e *tool.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(e.Text, tc.want) || len(e.Text) > 6_000 || !utf8.ValidString(e.Text) {
				t.Errorf("got %d bytes: %s\nwant in it %s", len(e.Text), e.Text, tc.want)
			}
		})
	}
}

func TestAResultIsNotToldToTheModel(t *testing.T) {
	const raw = `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","additionalProperties":false,
		"required":["id"],"properties":{"id":{"type":"integer"},"name":{"maxLength":3}}}}}}`
	s := compile(t, raw, schema.Output)
	for _, tc := range []struct{ value, want string }{
		{`{"rows":[{"id":"secret"}]}`, `field "rows[0].id": must be an integer, is a string`},
		{`{"rows":[{"id":1,"name":"secret"}]}`, `field "rows[0].name": must be at most 3 characters long`},
		{`{"rows":[{}]}`, `missing field "rows[0].id"`},
		{`{"rows":[{"id":1,"x":"secret"}]}`, `unknown field "rows[0].x" (known: id, name)`},
		{`"secret"`, `the result must be an object, is a string`},
		{`{`, `expected a key in an object at offset 1`},
		{``, `no JSON value at offset 0`},
	} {
		var e *tool.Error
		if err := s.ValidateValue(json.RawMessage(tc.value)); !errors.As(err, &e) {
			t.Fatalf("%s: got %v", tc.value, err)
		}
		if e.Kind != tool.OutputInvalid || e.Code != "output_invalid" {
			t.Errorf("%s: got %#v", tc.value, e)
		}
		if want := "the result does not match the tool's output schema: " + tc.want; e.Text != want {
			t.Errorf("got  %s\nwant %s", e.Text, want)
		}
	}
	if err := s.ValidateValue(json.RawMessage(`{"rows": [ {"id": 7.0} ]}`)); err != nil {
		t.Error(err)
	}
}

func TestAConfigurationIsNotTold(t *testing.T) {
	s := compile(t, `{"type":"object","additionalProperties":false,"required":["dsn"],"properties":{"dsn":{"type":"string","pattern":"^x"}}}`, schema.Config)
	for _, tc := range []struct{ value, want string }{
		{`{"dsn":"secret"}`, `key "dsn": must match the pattern "^x"`},
		{`{"dsn":7}`, `key "dsn": must be a string, is a number`},
		{`{"dns":"secret"}`, `missing key "dsn"; unknown key "dns" (known: dsn)`},
		{`"secret"`, `the configuration must be an object, is a string`},
	} {
		var e *tool.Error
		if err := s.Validate(parsed(t, tc.value)); !errors.As(err, &e) || e.Kind != tool.ArgsInvalid || e.Text != tc.want {
			t.Errorf("got  %v\nwant %s", err, tc.want)
		}
	}
}

func TestNothingAtAll(t *testing.T) {
	none := compile(t, ``, schema.Input)
	if err := none.Validate(parsed(t, `{}`)); err != nil {
		t.Error(err)
	}
	if err := none.Validate(parsed(t, `{"a":null}`)); err == nil {
		t.Error("a tool without arguments was given one")
	}
	if err := none.Validate(tool.JSON{}); err == nil {
		t.Error("no value is no object")
	}
	anything := compile(t, ``, schema.Output)
	for _, v := range []string{`null`, `[]`, `{"a":1}`, `"x"`} {
		if err := anything.ValidateValue(json.RawMessage(v)); err != nil {
			t.Error(err)
		}
	}
}

func TestAnnotationsAreNotJudged(t *testing.T) {
	for _, dialect := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"} {
		s := compile(t, `{"$schema":"`+dialect+`","type":"object","properties":{
			"a":{"format":"email"},"b":{"contentEncoding":"base64","contentMediaType":"application/json"},
			"format":{"type":"string"}}}`, schema.Input)
		if err := s.Validate(parsed(t, `{"a":"nobody","b":"%","format":"x"}`)); err != nil {
			t.Error(err)
		}
		if err := s.Validate(parsed(t, `{"format":1}`)); err == nil {
			t.Error("a property named format is a property")
		}
	}
}

func TestDraft07IgnoresWhatStandsBesideAReference(t *testing.T) {
	const body = `"type":"object","properties":{"a":{"$ref":"#/definitions/x","maxLength":1,"const":"x"}},"definitions":{"x":{"type":"string"}}}`
	old := compile(t, `{"$schema":"http://json-schema.org/draft-07/schema#",`+body, schema.Input)
	if err := old.Validate(parsed(t, `{"a":"long"}`)); err != nil {
		t.Error(err)
	}
	if err := compile(t, `{`+body, schema.Input).Validate(parsed(t, `{"a":"long"}`)); err == nil {
		t.Error("2020-12 does not")
	}
}

func TestWorkIsBounded(t *testing.T) {
	twice := `{"type":"object","properties":{"n":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	nested := func(depth int) string { return strings.Repeat(`{"n":`, depth) + `{}` + strings.Repeat(`}`, depth) }
	forms := withArgument(`{"items":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"string","minLength":2},`, 1_900), ",") + `]}}`)
	zeros := func(n int) string { return `{"a":[` + strings.Repeat("0,", n) + `0]}` }
	for name, tc := range map[string]struct{ schema, args, want string }{
		"doubling with each level, a few of them":     {twice, nested(10), ""},
		"doubling with each level, sixty of them":     {twice, nested(60), "would take too long"},
		"many forms for a few items":                  {forms, zeros(10), "must be a string"},
		"many forms for many items":                   {forms, zeros(10_000), "would take too long"},
		"many items of one form":                      {withArgument(`{"items":{"type":"integer"}}`), zeros(200_000), ""},
		"many items of one form, through the library": {withArgument(`{"items":{"not":{"type":"string"}}}`), zeros(50_000), ""},
		"a costly regex and a short text":             {withArgument(`{"pattern":"` + strings.Repeat(".{300}", 20) + `"}`), `{"a":"x"}`, "must match the pattern"},
		"a costly regex and a long text":              {withArgument(`{"pattern":"` + strings.Repeat(".{300}", 20) + `"}`), `{"a":"` + strings.Repeat("x", 200_000) + `"}`, "would take too long"},
		"a costly regex for long names":               {`{"type":"object","patternProperties":{"` + strings.Repeat(".{300}", 20) + `":{}}}`, `{"` + strings.Repeat("x", 200_000) + `":1}`, "would take too long"},
		"a long chain of references":                  {chain(1_900), nested(60), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := compile(t, tc.schema, schema.Input).Validate(parsed(t, tc.args))
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// chain returns a recursive schema in which each level goes through n references.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"n":{"$ref":"#/$defs/a0"}},"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"properties":{"n":{"$ref":"#/$defs/a0"}}}}}`, n)
	return b.String()
}

func TestASchemaIsSafeForConcurrentUse(t *testing.T) {
	s := compile(t, queryInput, schema.Input)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			args := parsed(t, fmt.Sprintf(`{"sql":"select %d","limit":%d}`, i, i))
			for range 50 {
				if err := s.Validate(args); (err == nil) != (i > 0) {
					t.Errorf("%d: got %v", i, err)
				}
				if out, err := schema.Coerce(s, args); err != nil || out.Digest() != args.Digest() {
					t.Errorf("%d: got %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestATypicalCallCostsNoAllocation(t *testing.T) {
	s := compile(t, queryInput, schema.Input)
	args := parsed(t, `{"sql": "select 1", "limit": 10, "format": "json"}`)
	if n := testing.AllocsPerRun(100, func() { _ = s.Validate(args) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
