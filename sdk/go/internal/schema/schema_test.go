// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write the golden files anew")

type secret string

func testKnown() Known {
	return Known{reflect.TypeFor[secret](): &jsonschema.Schema{Type: "string", WriteOnly: true}}
}

type plain struct {
	Text    string         `json:"text" jsonschema:"some text"`
	Small   int8           `json:"small"`
	Count   uint           `json:"count,omitempty"`
	Ratio   float64        `json:"ratio,omitzero"`
	On      *bool          `json:"on"`
	Any     any            `json:"any"`
	Numbers map[string]int `json:"numbers"`
	Rows    [][]any        `json:"rows"`
	hidden  int            //nolint:unused // it must not show
	Skipped int            `json:"-"`
	Untold  int
}

type special struct {
	Wait   time.Duration   `json:"wait" jsonschema:"how long"`
	Soon   *time.Duration  `json:"soon"`
	Date   time.Time       `json:"date"`
	Bytes  []byte          `json:"bytes"`
	Raw    json.RawMessage `json:"raw"`
	RawP   *json.RawMessage
	Number json.Number `json:"number"`
	Large  big.Int     `json:"large"`
	Addr   netip.Addr  `json:"addr"`
	Addrs  []*netip.Addr
	Key    secret `json:"key" jsonschema:"the key"`
}

type tagged struct {
	Order   string        `json:"order" enum:"asc,desc" default:"asc"`
	Level   int           `json:"level" enum:"1,2,3"`
	Fields  []string      `json:"fields" enum:"a, b" min:"1" max:"2"`
	Rows    int           `json:"rows" min:"1" max:"1000" default:"100"`
	Share   float64       `json:"share" min:"0.5" max:"1e3"`
	Name    string        `json:"name" min:"1" max:"64"`
	Link    string        `json:"link" format:"uri"`
	Labels  *[]string     `json:"labels" default:"[\"x\"]"`
	On      bool          `json:"on" default:"true"`
	Wait    time.Duration `json:"wait" default:"30s" min:"1s" max:"1m"`
	Nested  nested        `json:"nested"`
	Several []nested      `json:"several,omitempty"`
}

type nested struct {
	Depth int `json:"depth" default:"3"`
}

// widths are the numbers that Go has.
type widths struct {
	I   int
	I8  int8
	I16 int16
	I32 int32
	I64 int64 `min:"-9007199254740991" max:"9007199254740991"`
	U   uint
	U8  uint8
	U16 uint16
	U32 uint32
	U64 uint64
	F32 float32
	F64 float64 `min:"-1e10" max:"0.125"`
}

// optional is what may be left out, and what may be null in a result.
type optional struct {
	Empty    string         `json:"empty,omitempty"`
	Zero     time.Time      `json:"zero,omitzero"`
	Pointer  *string        `json:"pointer"`
	Both     *int           `json:"both,omitempty"`
	Preset   *bool          `json:"preset" default:"false"`
	Time     *time.Time     `json:"time"`
	Wait     *time.Duration `json:"wait" min:"1s"`
	Struct   *nested        `json:"struct"`
	List     []*nested      `json:"list"`
	Nullable map[string]*int
	Chosen   *string `json:"chosen" enum:"a,b"`
}

// deep is one thing in another.
type deep struct {
	Lists  [][]int                       `json:"lists" min:"1"`
	Array  [3]string                     `json:"array"`
	Maps   map[string]map[string]float64 `json:"maps" max:"9"`
	Struct struct {
		Inner struct {
			Wait time.Duration `json:"wait" default:"1s" jsonschema:"how long"`
		} `json:"inner"`
	} `json:"struct"`
	Structs map[string][]nested `json:"structs" jsonschema:"by name"`
	Waits   []time.Duration     `json:"waits"`
	Bytes   [][]byte            `json:"bytes"`
}

type level int

func (level) MarshalText() ([]byte, error) { return []byte("low"), nil }

type point struct{ X, Y int }

func (point) MarshalJSON() ([]byte, error) { return []byte("[0,0]"), nil }

// marshaled marshals itself.
type marshaled struct {
	Level  level       `json:"level" jsonschema:"low or high"`
	Levels []level     `json:"levels"`
	Point  point       `json:"point"`
	Addr   *netip.Addr `json:"addr"`
	Number json.Number `json:"number" min:"1"`
}

type outer struct {
	nested
	Own string `json:"own"`
}

func TestSchemasAreInferredFromTypesAndTags(t *testing.T) {
	for name, value := range map[string]any{
		"plain": plain{}, "special": special{}, "tagged": tagged{}, "embedded": outer{}, "empty": struct{}{},
		"map": map[string]int(nil), "raw": json.RawMessage(nil), "pointer": (*nested)(nil),
		"numbers": widths{}, "optional": optional{}, "deep": deep{}, "marshaled": marshaled{},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := Input(reflect.TypeOf(value), testKnown())
			if err != nil {
				t.Fatal(err)
			}
			out, err := Output(reflect.TypeOf(value), testKnown())
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, "input\n"+indent(t, in.JSON)+"\noutput\n"+indent(t, out.JSON)+"\n")
		})
	}
}

func TestOutputMayBeAnything(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{"", `{"type":"string"}`},
		{[]int(nil), `{"type":"array","items":{"type":"integer"}}`},
		{[]*int(nil), `{"type":"array","items":{"type":["integer","null"]}}`},
		{[2]bool{}, `{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2}`},
		{time.Second, `{"type":"string","pattern":` + quote(durationPattern) + `}`},
		{map[string][]string(nil), `{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`},
	} {
		got, err := Output(reflect.TypeOf(c.value), nil)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.JSON) != c.want {
			t.Errorf("%T: got %s, want %s", c.value, got.JSON, c.want)
		}
	}
}

func TestFaultsOfTypesAreReportedAllAtOnce(t *testing.T) {
	type list struct{ Next []any }
	type wrong struct {
		A    string        `json:"a" min:"x"`
		B    int           `json:"b" default:"many"`
		C    int           `json:"c" enum:"1,two"`
		D    time.Duration `json:"d" default:"soon"`
		E    time.Duration `json:"e" min:"1"`
		F    int           `json:"f" format:"uri"`
		G    bool          `json:"g" min:"1"`
		H    int           `json:"h,string"`
		I    secret        `json:"i" default:"x"`
		J    int           `json:"j" max:"9007199254740993"`
		K    time.Duration `json:"k" min:"10s" default:"1s"`
		list `json:"l"`
	}
	_, err := Input(reflect.TypeFor[wrong](), testKnown())
	if err == nil {
		t.Fatal("no fault")
	}
	for _, want := range []string{
		`.A: min: "x" is not a length`, `.B: default "many"`, `.C: enum: "two" is not JSON`, `.D: default "soon"`,
		`.E: min:`, `.F: format is for text`, `.G: min: bounds are for`, `.H: the json option "string"`,
		`.I: a secret has no default`, `.J: max: 9007199254740993 cannot be held exactly`,
		`.K: default "1s" does not fit: must be at least 10s`, `.list: an embedded field with a JSON name`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in\n%v", want, err)
		}
	}
}

func TestTypesWithoutASchemaAreFaults(t *testing.T) {
	type tree struct{ Kids []tree }
	for _, c := range []struct {
		t    reflect.Type
		want string
	}{
		{reflect.TypeFor[tree](), "give the schema yourself"},
		{reflect.TypeFor[struct{ F func() }](), "give the schema yourself"},
		{reflect.TypeFor[string](), "arguments are an object"},
		{reflect.TypeFor[any](), "arguments are an object"},
		{reflect.TypeFor[struct {
			N int `min:"5" default:"1"`
		}](), "default"},
	} {
		_, err := Input(c.t, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.t, err, c.want)
		}
	}
}

func TestGivenSchemasAreChecked(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object"}`, ""},
		{`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, ""},
		{`{"type":"object","properties":{"n":{"$ref":"#/$defs/m"}}}`, "m"},
		{`{"type":"object","properties":{"n":{"$ref":"https://example.com/s.json"}}}`, "example.com"},
		{`{"type":"object","properties":{"n":{"pattern":"("}}}`, "parsing regexp"},
		{`{"type":"array"}`, `"type": "object"`},
		{`[]`, "not a JSON object"},
		{`{`, "not a JSON object"},
	} {
		_, err := Parse(json.RawMessage(c.schema), true)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.schema, err, c.want)
		}
	}
}

func TestValidationKnowsLargeNumbers(t *testing.T) {
	typ, err := Input(reflect.TypeFor[struct {
		N int64   `json:"n" min:"1"`
		F float64 `json:"f,omitempty"`
	}](), nil)
	if err != nil {
		t.Fatal(err)
	}
	for data, ok := range map[string]bool{
		`{"n":9007199254740993}`: true, `{"n":1,"f":1e400}`: true, `{"n":0}`: false, `{"n":"1"}`: false, `{}`: false,
		`{"n":1,"x":1}`: false, `[`: false,
	} {
		if err := typ.Validate([]byte(data)); (err == nil) != ok {
			t.Errorf("%s: %v", data, err)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-update writes it anew):\n%s", path, diff)
	}
}

func indent(t *testing.T, data []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func quote(s string) string {
	q, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprint("quoting: ", err))
	}
	return string(q)
}
