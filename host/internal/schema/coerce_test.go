// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestCoerce(t *testing.T) {
	const integers = `{"type":"array","items":{"type":"integer"}}`
	for name, tc := range map[string]struct{ sub, value, want string }{
		// null for an optional property = absent
		"null for an optional property":                   {`{"type":"object","properties":{"x":{"type":"string"},"y":{}}}`, `{"x":null,"y":1}`, `{"y":1}`},
		"null for an optional property, nested":           {`{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}`, `[{"x":null}]`, `[{}]`},
		"null for a required property stays":              {`{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}`, `{"x":null}`, ``},
		"null for a property that may be null stays":      {`{"type":"object","properties":{"x":{"type":["string","null"]}}}`, `{"x":null}`, ``},
		"null for a property that is anything stays":      {`{"type":"object","properties":{"x":{"description":"any"}}}`, `{"x":null}`, ``},
		"null for a property that is optional null stays": {`{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"x":null}`, ``},
		"null for an unknown property stays":              {`{"type":"object"}`, `{"z":null}`, ``},
		"null in an array stays":                          {integers, `[null]`, ``},
		"null for one of two forms stays":                 {`{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"x":null}`, ``},
		// a scalar for an array
		"a scalar for an array":                       {`{"type":"array","items":{"type":"string"}}`, `"x"`, `["x"]`},
		"a number for an array":                       {`{"type":"array"}`, `1.10`, `[1.10]`},
		"true for an array":                           {`{"type":"array"}`, `true`, `[true]`},
		"an object for an array stays":                {`{"type":"array"}`, `{}`, ``},
		"a scalar that may be one stays":              {`{"type":["array","string"]}`, `"x"`, ``},
		"a scalar for an array, and its item":         {integers, `"7"`, `[7]`},
		"a scalar for an array of arrays":             {`{"type":"array","items":{"type":"array"}}`, `1`, `[1]`},
		"a scalar for an array of arrays without end": {`{"$ref":"#/$defs/nest"}`, `1`, `[1]`},
		// JSON text for an object or an array
		"JSON text for an object":                        {`{"type":"object"}`, `"{\"x\": [1.0, \"ä\"]}"`, `{"x":[1.0,"ä"]}`},
		"JSON text for an array":                         {integers, `" [1, 9007199254740993] "`, `[1,9007199254740993]`},
		"JSON text, and what is in it":                   {`{"type":"object","properties":{"n":{"type":"integer"}}}`, `"{\"n\":\"5\"}"`, `{"n":5}`},
		"JSON text of another type stays":                {`{"type":"object"}`, `"[1]"`, ``},
		"text of a bare object for an array is a scalar": {`{"type":"array","items":{"type":"object"}}`, `"{\"x\":1}"`, `[{"x":1}]`},
		"text that is no JSON stays":                     {`{"type":"object"}`, `"{x:1}"`, ``},
		"text with duplicate keys stays":                 {`{"type":"object"}`, `"{\"x\":1,\"x\":2}"`, ``},
		"JSON text where text may be stays":              {`{"type":["object","string"]}`, `"{}"`, ``},
		"JSON text of a scalar stays":                    {`{"type":"object"}`, `"5"`, ``},
		// exact integer text, or 42.0, for an integer
		"integer text":                                   {`{"type":"integer"}`, `"42"`, `42`},
		"negative integer text":                          {`{"type":"integer"}`, `"-42"`, `-42`},
		"long integer text keeps its digits":             {`{"type":"integer"}`, `"9007199254740993"`, `9007199254740993`},
		"a number with a fraction of zeros":              {`{"type":"integer"}`, `42.0`, `42`},
		"a long number with a fraction of zeros":         {`{"type":"integer"}`, `-9007199254740993.000`, `-9007199254740993`},
		"integer text for an optional integer":           {`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `"42"`, `42`},
		"integer text for an integer or null":            {`{"type":["integer","null"]}`, `"42"`, `42`},
		"text with a fraction stays":                     {`{"type":"integer"}`, `"42.0"`, ``},
		"text with a sign stays":                         {`{"type":"integer"}`, `"+42"`, ``},
		"text with a space stays":                        {`{"type":"integer"}`, `" 42"`, ``},
		"text with a leading zero stays":                 {`{"type":"integer"}`, `"042"`, ``},
		"text with an exponent stays":                    {`{"type":"integer"}`, `"1e2"`, ``},
		"empty text stays":                               {`{"type":"integer"}`, `""`, ``},
		"a minus stays":                                  {`{"type":"integer"}`, `"-"`, ``},
		"digits of another script stay":                  {`{"type":"integer"}`, `"٤٢"`, ``},
		"text longer than a number may be stays":         {`{"type":"integer"}`, `"` + strings.Repeat("1", 1025) + `"`, ``},
		"a fraction stays":                               {`{"type":"integer"}`, `42.5`, ``},
		"an exponent stays":                              {`{"type":"integer"}`, `42e0`, ``},
		"a fraction of zeros where numbers may be stays": {`{"type":"number"}`, `42.0`, ``},
		// nothing else
		"text for a number stays":            {`{"type":"number"}`, `"42"`, ``},
		"text for a boolean stays":           {`{"type":"boolean"}`, `"true"`, ``},
		"a number for a string stays":        {`{"type":"string"}`, `42`, ``},
		"empty text for null stays":          {`{"type":"null"}`, `""`, ``},
		"an array of one for a scalar stays": {`{"type":"string"}`, `["x"]`, ``},
		"text where no type is given stays":  {`{"minimum":1}`, `"42"`, ``},
		// by schema walk
		"through a reference":            {`{"$ref":"#/$defs/n"}`, `"42"`, `42`},
		"through allOf":                  {`{"allOf":[{"type":["integer","string"]},{"type":"integer"}]}`, `"42"`, `42`},
		"through a recursive schema":     {`{"$ref":"#/$defs/tree"}`, `{"n":"1","sub":{"n":"2","sub":"{\"n\":\"3\"}"}}`, `{"n":1,"sub":{"n":2,"sub":{"n":3}}}`},
		"in each item":                   {integers, `["1",2,"x",3.0]`, `[1,2,"x",3]`},
		"not in tuples":                  {`{"type":"array","prefixItems":[{"type":"integer"}]}`, `["1"]`, ``},
		"not in one of two forms":        {`{"oneOf":[{"type":"integer"},{"type":"array"}]}`, `"42"`, ``},
		"not where a circle has no type": {`{"allOf":[{"$ref":"#/$defs/any"}]}`, `"42"`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			s := compile(t, `{"type":"object","properties":{"a":`+tc.sub+`},"$defs":{"n":{"type":"integer"},"any":{},"nest":{"type":"array","items":{"$ref":"#/$defs/nest"}},
				"tree":{"type":"object","properties":{"n":{"type":"integer"},"sub":{"$ref":"#/$defs/tree"}}}}}`, schema.Input)
			asked := parsed(t, `{"a": `+tc.value+`}`)
			got, err := schema.Coerce(s, asked)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"a":` + tc.want + `}`
			if tc.want == "" { // the very same bytes
				want = string(asked.Bytes())
			}
			if string(got.Bytes()) != want {
				t.Errorf("got %s, want %s", got.Bytes(), want)
			}
			again, err := schema.Coerce(s, got)
			if (err != nil || again.Digest() != got.Digest()) && !strings.Contains(name, "of arrays") {
				t.Errorf("not idempotent: %s, %v", again.Bytes(), err)
			}
		})
	}
}

func TestCoerceInDraft07(t *testing.T) {
	s := compile(t, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
		"a":{"type":"array","items":{"type":"integer"}},"b":{"type":"array","items":[{"type":"integer"}]}}}`, schema.Input)
	got, err := schema.Coerce(s, parsed(t, `{"a":["1"],"b":["1"]}`))
	if err != nil || string(got.Bytes()) != `{"a":[1],"b":["1"]}` {
		t.Errorf("got %s, %v", got.Bytes(), err)
	}
}

func TestCoerceKeepsTheOrderOfKeys(t *testing.T) {
	s := compile(t, withArgument(`{"type":"integer"}`), schema.Input)
	got, err := schema.Coerce(s, parsed(t, `{"z":1.10, "\u0061":"7", "b":[1E+2]}`))
	if err != nil || string(got.Bytes()) != `{"z":1.10,"\u0061":7,"b":[1E+2]}` {
		t.Errorf("got %s, %v", got.Bytes(), err)
	}
}

func TestCoerceRefusesWhatWouldBecomeTooDeep(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/properties/a"}}}}`, schema.Input)
	text := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	_, err := schema.Coerce(s, parsed(t, `{"a":"`+text+`"}`))
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != tool.ArgsInvalid || !strings.Contains(e.Text, "nested deeper than 64") {
		t.Errorf("got %v", err)
	}
}

func TestCoerceBoundsItsWork(t *testing.T) {
	var all strings.Builder
	for range 1_900 {
		all.WriteString(`{"type":"object"},`)
	}
	s := compile(t, `{"type":"object","properties":{"a":{"items":{"properties":{"b":{"allOf":[`+
		strings.TrimSuffix(all.String(), ",")+`]}}}}}}`, schema.Input)
	args := parsed(t, `{"a":[`+strings.Repeat(`{"b":{}},`, 10_000)+`{}]}`)
	if _, err := schema.Coerce(s, args); err == nil || !strings.Contains(err.Error(), "would take too long") {
		t.Errorf("got %v", err)
	}
}

func TestCoerceOfNothing(t *testing.T) {
	if got, err := schema.Coerce(nil, parsed(t, `{}`)); err != nil || string(got.Bytes()) != `{}` {
		t.Errorf("got %s, %v", got.Bytes(), err)
	}
	if got, err := schema.Coerce(compile(t, ``, schema.Input), tool.JSON{}); err != nil || !got.IsZero() {
		t.Errorf("got %s, %v", got.Bytes(), err)
	}
}

func TestCoerceLeavesGoodArgumentsAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := schema.Compile(json.RawMessage(randomSchema(true).Draw(t, "schema")), schema.Output)
		if err != nil {
			t.Skip(err)
		}
		for range 5 {
			asked, err := tool.ParseJSON([]byte(randomValue(3).Draw(t, "value")))
			if err != nil {
				t.Fatal(err)
			}
			got, err := schema.Coerce(s, asked)
			if err != nil {
				t.Fatal(err)
			}
			if s.Validate(asked) == nil && got.Digest() != asked.Digest() {
				t.Fatalf("%s became %s", asked.Bytes(), got.Bytes())
			}
		}
	})
}
