// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type answer struct {
	Zeta  string                   `json:"zeta"`
	List  []string                 `json:"list"`
	Left  []string                 `json:"left,omitempty"`
	Map   map[string]int           `json:"map"`
	Rows  [][]any                  `json:"rows"`
	Ptr   *[]int                   `json:"ptr"`
	Took  time.Duration            `json:"took"`
	Waits map[string]time.Duration `json:"waits,omitempty"`
	Inner inner                    `json:"inner"`
	Many  []*inner                 `json:"many,omitempty"`
	Any   any                      `json:"any"`
}

type inner struct {
	IDs []int `json:"ids"`
}

func TestEncodeFitsTheSchema(t *testing.T) {
	typ, err := Output(reflect.TypeFor[answer](), nil)
	if err != nil {
		t.Fatal(err)
	}
	empty := []int(nil)
	for _, c := range []struct {
		value answer
		want  string
	}{
		{
			answer{},
			`{"zeta":"","list":[],"map":{},"rows":[],"ptr":null,"took":"0s","inner":{"ids":[]},"any":null}`,
		},
		{
			answer{
				Zeta: "<&>", List: []string{"a"}, Map: map[string]int{"n": 9007199254740993}, Rows: [][]any{nil, {json.Number("1.10")}},
				Ptr: &empty, Took: 90 * time.Second, Waits: map[string]time.Duration{"x": 1}, Many: []*inner{nil, {}},
				Any: []int(nil),
			},
			`{"zeta":"<&>","list":["a"],"map":{"n":9007199254740993},"rows":[[],[1.10]],"ptr":null,"took":"1m30s",` +
				`"waits":{"x":"1ns"},"inner":{"ids":[]},"many":[null,{"ids":[]}],"any":null}`,
		},
	} {
		got, err := typ.Encode(c.value)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if err := typ.Validate(got); err != nil {
			t.Errorf("%s does not fit its schema: %v", got, err)
		}
	}
}

func TestEncodeFindsWhatIsNilWhereverItIs(t *testing.T) {
	type leaf struct {
		IDs []int `json:"ids"`
	}
	type embedded struct {
		Deep []int `json:"deep"`
	}
	type tree struct {
		*embedded
		Leaf  leaf            `json:"leaf,omitzero"`
		Ptr   *leaf           `json:"ptr,omitempty"`
		List  []leaf          `json:"list,omitempty"`
		Dict  map[string]leaf `json:"dict,omitempty"`
		Array [1][]string     `json:"array"`
	}
	typ, err := Output(reflect.TypeFor[tree](), nil)
	if err != nil {
		t.Fatal(err)
	}
	full := [1][]string{{"x"}}
	for _, c := range []struct {
		value tree
		want  string
	}{
		{tree{Array: full}, `{"array":[["x"]]}`},
		{tree{}, `{"array":[[]]}`},
		{tree{Array: full, embedded: &embedded{}}, `{"deep":[],"array":[["x"]]}`},
		{tree{Array: full, Ptr: &leaf{}}, `{"ptr":{"ids":[]},"array":[["x"]]}`},
		{tree{Array: full, List: []leaf{{IDs: []int{1}}, {}}}, `{"list":[{"ids":[1]},{"ids":[]}],"array":[["x"]]}`},
		{tree{Array: full, Dict: map[string]leaf{"a": {}}}, `{"dict":{"a":{"ids":[]}},"array":[["x"]]}`},
		{tree{Array: full, Leaf: leaf{IDs: []int{}}}, `{"leaf":{"ids":[]},"array":[["x"]]}`},
	} {
		got, err := typ.Encode(c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, want %s, %v", got, c.want, err)
		}
	}
	if got, err := typ.Encode((*tree)(nil)); err != nil || string(got) != "null" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestEncodeLeavesTheValueAlone(t *testing.T) {
	typ, err := Output(reflect.TypeFor[answer](), nil)
	if err != nil {
		t.Fatal(err)
	}
	v := answer{Rows: [][]any{nil}}
	if _, err := typ.Encode(v); err != nil {
		t.Fatal(err)
	}
	if v.Rows[0] != nil || v.List != nil {
		t.Error("the value was changed")
	}
}

func TestEncodeOfNoTypeIsPlainJSON(t *testing.T) {
	got, err := (*Type)(nil).Encode(map[string]any{"a": "<", "b": time.Second})
	if err != nil || string(got) != `{"a":"<","b":1000000000}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := (*Type)(nil).Encode(func() {}); err == nil {
		t.Error("a function was marshalled")
	}
}
