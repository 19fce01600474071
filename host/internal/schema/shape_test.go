// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestShapesAreSureOf(t *testing.T) {
	for name, tc := range map[string]struct{ sub, value string }{
		"a string":                     {`{"type":"string"}`, `"a"`},
		"a string with escapes":        {`{"type":"string","maxLength":3}`, `"\"\\\u0001"`},
		"a string of wide characters":  {`{"type":"string","minLength":2,"maxLength":2}`, `"ä😀"`},
		"a pattern":                    {`{"type":"string","pattern":"^(?!b)a"}`, `"ab"`},
		"an integer":                   {`{"type":"integer","minimum":1,"exclusiveMaximum":3}`, `2`},
		"an integer spelled otherwise": {`{"type":"integer"}`, `20e-1`},
		"the safe integers":            {`{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`, `-9007199254740991`},
		"a number":                     {`{"type":"number"}`, `-1.5e300`},
		"an enum":                      {`{"enum":["a",1.0,null,true]}`, `1`},
		"a const":                      {`{"const":"a"}`, `"a"`},
		"null, optionally":             {`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `null`},
		"something, optionally":        {`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `"a"`},
		"a list of types":              {`{"type":["string","boolean"]}`, `false`},
		"an array":                     {`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2}`, `[1,2]`},
		"an array of anything":         {`{"type":"array"}`, `[1,[{"a":[]}],"]"]`},
		"a map":                        {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"b":"x","a":"y"}`},
		"an open object":               {`{"type":"object","properties":{"a":true},"required":["a","b"]}`, `{"b":{"}":[1,"]"]},"a":1}`},
		"a name with escapes":          {`{"type":"object","properties":{"\u0001\"ä":{"type":"string"}},"additionalProperties":false}`, `{"\u0001\"\u00e4":"x"}`},
		"a definition":                 {`{"$ref":"#/$defs/d"}`, `"a"`},
		"a recursive definition":       {`{"$ref":"#/$defs/list"}`, `{"next":{"next":null}}`},
		"anything":                     {`true`, `{"a":[null]}`},
		"annotations":                  {`{"type":"string","title":"T","description":"D","default":"x","examples":["y"],"format":"date"}`, `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			raw := `{"type":"object","properties":{"v":` + tc.sub + `},"$defs":{"d":{"type":"string"},
				"list":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/list"},{"type":"null"}]}}}}}`
			s, err := Compile(json.RawMessage(raw), Input)
			if err != nil {
				t.Fatal(err)
			}
			j, err := tool.ParseJSON([]byte(`{"v":` + tc.value + `}`))
			if err != nil {
				t.Fatal(err)
			}
			sure, accepted := s.Quick(j)
			if !accepted {
				t.Fatal("the library refuses it: the case is wrong")
			}
			if !sure {
				t.Error("left to the library")
			}
		})
	}
}

func TestALongTextIsNotGivenToACostlyRegexByAShape(t *testing.T) {
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"`+strings.Repeat(".{300}", 20)+`"}}}`), Input)
	if err != nil {
		t.Fatal(err)
	}
	if s.quick == nil || !s.quickly(1_000) || s.quickly(100_000) {
		t.Errorf("quickly with %d steps", s.steps)
	}
}
