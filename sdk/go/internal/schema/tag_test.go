// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzTags makes a struct whose one field has the tags: a schema comes of it, or
// faults, and a default that is accepted is what an empty object is read as.
func FuzzTags(f *testing.F) {
	f.Add(uint8(0), "a,b", "a", "1", "2", "uri", "text")
	f.Add(uint8(1), "1,2", "1", "0", "1e3", "", "WORD=x")
	f.Add(uint8(4), "", "30s", "1s", "1m", "", "")
	f.Add(uint8(5), "x, y", "[\"x\"]", "0", "2", "", "")
	f.Add(uint8(1), "", "1e999999999", "1e999999999", "1e-999999999", "", "")
	types := []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[float64](), reflect.TypeFor[bool](),
		reflect.TypeFor[time.Duration](), reflect.TypeFor[[]string](), reflect.TypeFor[map[string]int](), reflect.TypeFor[*int64](),
		reflect.TypeFor[any](), reflect.TypeFor[time.Time](), reflect.TypeFor[secret](), reflect.TypeFor[json.RawMessage](),
	}
	f.Fuzz(func(t *testing.T, which uint8, enum, preset, least, most, format, text string) {
		var tag strings.Builder
		for _, pair := range [][2]string{
			{"enum", enum}, {"default", preset}, {"min", least}, {"max", most}, {"format", format}, {"jsonschema", text},
		} {
			if pair[1] != "" {
				tag.WriteString(pair[0] + ":" + strconv.Quote(pair[1]) + " ")
			}
		}
		typ := reflect.StructOf([]reflect.StructField{{
			Name: "F", Type: types[int(which)%len(types)], Tag: reflect.StructTag(tag.String()),
		}})
		in, err := Input(typ, testKnown())
		if err != nil {
			return
		}
		if _, err := Parse(in.JSON, true); err != nil {
			t.Fatalf("%s: %v\n%s", tag.String(), err, in.JSON)
		}
		if preset == "" {
			return
		}
		if err := in.Validate(nil); err != nil {
			t.Errorf("%s: without the field: %v", tag.String(), err)
		}
		if err := in.Decode(nil, reflect.New(typ).Interface()); err != nil {
			t.Errorf("%s: reading the default: %v", tag.String(), err)
		}
	})
}
