// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"encoding/json"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/schema"
)

func TestArgumentsAreMadeForWhatSchemasCommonlySay(t *testing.T) {
	for name, tc := range map[string]struct{ schema, want string }{
		"nothing":             {`{"type":"object"}`, `{}`},
		"only what is needed": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`, `{"a":"x"}`},
		"types": {
			`{"type":"object","required":["a","b","c","d","e","f"],"properties":{"a":{"type":"integer"},"b":{"type":"number","minimum":1.5},` +
				`"c":{"type":"boolean"},"d":{"type":"null"},"e":{"type":"array","items":{"type":"string"},"minItems":2},"f":{"type":["null","string"]}}}`,
			`{"a":0,"b":2,"c":false,"d":null,"e":["x","x"],"f":"x"}`,
		},
		"what the author gives": {
			`{"type":"object","required":["a","b","c","d"],"properties":{"a":{"default":7},"b":{"examples":["q"]},"c":{"enum":["e","f"]},"d":{"const":1.10}}}`,
			`{"a":7,"b":"q","c":"e","d":1.10}`,
		},
		"numbers": {
			`{"type":"object","required":["a","b","c","d"],"properties":{"a":{"type":"integer","exclusiveMinimum":3},"b":{"type":"integer","maximum":-4},` +
				`"c":{"type":"integer","minimum":7,"multipleOf":5},"d":{"minimum":1}}}`,
			`{"a":4,"b":-4,"c":10,"d":1}`,
		},
		"texts": {
			`{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","minLength":3},"b":{"type":"string","format":"date"}}}`,
			`{"a":"xxx","b":"2026-01-02"}`,
		},
		"references": {
			`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"object","required":["c"],"properties":{"c":{"type":"integer"}}}}}`,
			`{"a":{"c":0}}`,
		},
		"choices": {
			`{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":2}},"anyOf":[{"required":["b"],"properties":{"b":{"type":"integer"}}}]}`,
			`{"a":"xx","b":0}`,
		},
		"all of them":    {`{"type":"object","allOf":[{"required":["a"]},{"properties":{"a":{"type":"integer"}}}]}`, `{"a":0}`},
		"enough of them": {`{"type":"object","minProperties":1,"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`, `{"a":0}`},
		"a pattern":      {`{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^[0-9]{7}$"}}}`, ``},
		"for ever":       {`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`, ``},
		"too long":       {`{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":1e300}}}`, ``},
		"impossible":     {`{"type":"object","required":["a"],"properties":{"a":false}}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := schema.Compile(json.RawMessage(tc.schema), schema.Input)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := arguments(json.RawMessage(tc.schema), compiled)
			if string(got) != tc.want || ok != (tc.want != "") {
				t.Errorf("%s, %v; want %s", got, ok, tc.want)
			}
		})
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		``, `{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":3,"items":{"oneOf":[false,{"const":1}]}}}}`,
		`{"allOf":[{"allOf":[true]}],"$ref":"#"}`, `{"required":[7],"properties":[]}`, `{"minProperties":1e9}`, `{"multipleOf":1e-300}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		compiled, err := schema.Compile(json.RawMessage(s), schema.Input)
		if err != nil {
			return
		}
		if args, ok := arguments(json.RawMessage(s), compiled); ok && compiled.ValidateValue(args) != nil {
			t.Errorf("%s is not valid by %s", args, s)
		}
		secretsIn(json.RawMessage(s), json.RawMessage(`{"a":["b",{"c":"d"}]}`))
	})
}

func TestSecretsAreWhatStandsAtWriteOnlyPlaces(t *testing.T) {
	const s = `{"type":"object","properties":{"dsn":{"writeOnly":true},"name":{},"list":{"items":{"$ref":"#/$defs/s"}}},` +
		`"additionalProperties":{"anyOf":[{"type":"integer"},{"writeOnly":true}]},"$defs":{"s":{"type":"string","writeOnly":true}}}`
	got := secretsIn(json.RawMessage(s), json.RawMessage(`{"dsn":{"a":["one"]},"name":"no","list":["two","three"],"more":"four","n":5}`))
	want := []string{"one", "two", "three", "four"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
