// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type order struct {
	ID     int64             `json:"id"`
	Qty    uint8             `json:"qty" default:"1"`
	Note   *string           `json:"note"`
	Any    any               `json:"any,omitempty"`
	Number json.Number       `json:"number,omitempty"`
	Raw    json.RawMessage   `json:"raw,omitempty"`
	Wait   time.Duration     `json:"wait" default:"30s" min:"1s" max:"1h"`
	Waits  []time.Duration   `json:"waits,omitempty"`
	Sub    sub               `json:"sub"`
	SubP   *sub              `json:"subp"`
	Subs   []sub             `json:"subs,omitempty"`
	ByName map[string]sub    `json:"by_name,omitempty"`
	Big    *big.Int          `json:"big"`
	Words  map[string]string `json:"words,omitempty"`
}

type sub struct {
	Size int    `json:"size" default:"10"`
	Mode string `json:"mode" default:"fast"`
}

func input[T any](tb testing.TB) *Type {
	tb.Helper()
	typ, err := Input(reflect.TypeFor[T](), testKnown())
	if err != nil {
		tb.Fatal(err)
	}
	return typ
}

func TestDecodeFillsInDefaults(t *testing.T) {
	typ := input[order](t)
	for data, want := range map[string]order{
		``:                         {Qty: 1, Wait: 30 * time.Second, Sub: sub{10, "fast"}},
		`{}`:                       {Qty: 1, Wait: 30 * time.Second, Sub: sub{10, "fast"}},
		`{"qty":null,"wait":null}`: {Qty: 1, Wait: 30 * time.Second, Sub: sub{10, "fast"}},
		`{"qty":0,"wait":"2s"}`:    {Qty: 0, Wait: 2 * time.Second, Sub: sub{10, "fast"}},
		`{"sub":{"size":0},"subp":{},"subs":[{},{"mode":""}],"by_name":{"a/b":{"size":1}}}`: {
			Qty: 1, Wait: 30 * time.Second, Sub: sub{0, "fast"}, SubP: &sub{10, "fast"},
			Subs: []sub{{10, "fast"}, {10, ""}}, ByName: map[string]sub{"a/b": {1, "fast"}},
		},
	} {
		var got order
		if err := typ.Decode([]byte(data), &got); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", data, diff)
		}
	}
}

func TestDecodeKeepsEveryDigit(t *testing.T) {
	data := `{"id":9007199254740993,"any":{"x":[9007199254740993,1.10,1e400]},"number":0.1000,"raw":{"n":1.0e5},` +
		`"big":123456789012345678901234567890}`
	var got order
	if err := input[order](t).Decode([]byte(data), &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != 9007199254740993 || got.Number != "0.1000" || string(got.Raw) != `{"n":1.0e5}` ||
		got.Big.String() != "123456789012345678901234567890" {
		t.Errorf("got %+v", got)
	}
	want := map[string]any{"x": []any{json.Number("9007199254740993"), json.Number("1.10"), json.Number("1e400")}}
	if diff := cmp.Diff(want, got.Any); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeReadsIntegersHoweverTheyAreWritten(t *testing.T) {
	type ints struct {
		A int            `json:"a"`
		B []uint8        `json:"-"`
		C []int64        `json:"c,omitempty"`
		D map[string]int `json:"d,omitempty"`
		E *int           `json:"e"`
	}
	seven := 7
	var got ints
	if err := input[ints](t).Decode([]byte(`{"a":42.0,"c":[1e3,-2.50e1,9007199254740993],"d":{"x":1E0},"e":7.00}`), &got); err != nil {
		t.Fatal(err)
	}
	want := ints{A: 42, C: []int64{1000, -25, 9007199254740993}, D: map[string]int{"x": 1}, E: &seven}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeReadsDurations(t *testing.T) {
	var got order
	if err := input[order](t).Decode([]byte(`{"wait":"1m30s","waits":["0","-1.5h"]}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.Wait != 90*time.Second || !reflect.DeepEqual(got.Waits, []time.Duration{0, -90 * time.Minute}) {
		t.Errorf("got %v %v", got.Wait, got.Waits)
	}
}

func TestDecodeKeepsRawArgumentsAsTheyCame(t *testing.T) {
	var got json.RawMessage
	data := ` {"b":1.0, "a":9007199254740993}`
	if err := input[json.RawMessage](t).Decode([]byte(data), &got); err != nil || string(got) != data {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDecodeErrorsNameTheirPlaceAndQuoteNothingWhenPlain(t *testing.T) {
	typ := input[order](t)
	for _, c := range []struct{ data, pointer, plain string }{
		{`{"id":"s3cret"}`, "/id", "must be an integer of type int64, not text"},
		{`{"id":1.5}`, "/id", "must be an integer of type int64"},
		{`{"qty":300}`, "/qty", "must be an integer of type uint8"},
		{`{"qty":1e500}`, "/qty", "must be an integer of type uint8"},
		{`{"sub":{"size":true}}`, "/sub/size", "must be an integer of type int, not true or false"},
		{`{"sub":[]}`, "/sub", "must be an object, not a list"},
		{`{"words":"s3cret"}`, "/words", "must be an object, not text"},
		{`{"wait":5}`, "/wait", `must be a duration such as "30s"`},
		{`{"wait":"s3cret"}`, "/wait", `must be a duration such as "30s"`},
		{`{"wait":"1ms"}`, "/wait", "must be at least 1s"},
		{`{"wait":"9h"}`, "/wait", "must be at most 1h0m0s"},
		{`{"waits":["1s","x"]}`, "/waits/1", `must be a duration such as "30s"`},
		{`{"big":"s3cret"}`, "", "cannot be read"},
		{`{"id":1} {}`, "", "must be valid JSON (see byte 10)"},
		{`{"id"`, "", "must be valid JSON (see byte 5)"},
		{`[]`, "", "must be an object, not a list"},
	} {
		var got order
		err := typ.Decode([]byte(c.data), &got)
		var field *FieldError
		if !errors.As(err, &field) {
			t.Errorf("%s: got %v, which is no FieldError", c.data, err)
			continue
		}
		if field.Pointer != c.pointer || field.Plain() != c.plain {
			t.Errorf("%s: got %q %q, want %q %q", c.data, field.Pointer, field.Plain(), c.pointer, c.plain)
		}
		if strings.Contains(field.Plain(), "s3cret") {
			t.Errorf("%s: quoted", c.data)
		}
	}
}

func TestPointersAreEscaped(t *testing.T) {
	type timed struct {
		Waits map[string]time.Duration `json:"waits"`
	}
	err := input[timed](t).Decode([]byte(`{"waits":{"a/b~c":"x"}}`), new(timed))
	var field *FieldError
	if !errors.As(err, &field) || field.Pointer != "/waits/a~1b~0c" {
		t.Errorf("got %v", err)
	}
}

// FuzzDecode: whatever the bytes, Decode says what it thinks of them, and what
// it has read it reads again from what it would write.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, ``, `null`, `[]`, `{"id":9007199254740993,"any":[1e400],"wait":"30s","subs":[{}]}`, `{"id":42.0}`,
		`{"wait":"1h1h1h"}`, `{"id":1e9999999}`, `{"qty":-0.0}`, `{"sub":null,"sub":{"size":1}}`, `{"any":"\ud800"}`,
		"{\"words\":{\"\xff\":\"\xff\"}}",
	} {
		f.Add([]byte(seed))
	}
	typ := input[order](f)
	out, err := Output(reflect.TypeFor[order](), testKnown())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got order
		if err := typ.Decode(data, &got); err != nil {
			if _, ok := errors.AsType[*FieldError](err); !ok {
				t.Fatalf("%q: %v is no FieldError", data, err)
			}
			return
		}
		text, err := out.Encode(got)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", data, err)
		}
		var again order
		if err := typ.Decode(text, &again); err != nil && !outOfBounds(err) {
			t.Fatalf("%q was read, written as %q and cannot be read again: %v", data, text, err)
		}
	})
}

// outOfBounds: a null duration is read as zero, which is below its minimum.
func outOfBounds(err error) bool { return strings.Contains(err.Error(), "must be at ") }
