// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type texts struct {
	Name   string        `json:"name" jsonschema:"who" min:"1"`
	Colour string        `json:"colour" enum:"red,green" default:"red"`
	Level  int8          `json:"level,omitempty" enum:"1,2,3"`
	Share  *float64      `json:"share" min:"0" max:"1"`
	Exact  json.Number   `json:"exact,omitempty"`
	Loud   bool          `json:"loud,omitempty"`
	Wait   time.Duration `json:"wait" default:"30s" max:"1m"`
	Day    time.Time     `json:"day,omitzero"`
}

func TestFieldsThatAreGivenAsText(t *testing.T) {
	typ, err := Texts(reflect.TypeFor[texts](), testKnown())
	if err != nil {
		t.Fatal(err)
	}
	want := []Text{
		{Name: "name", Description: "who", Required: true},
		{Name: "colour", Enum: []string{"red", "green"}},
		{Name: "level", Enum: []string{"1", "2", "3"}},
		{Name: "share"},
		{Name: "exact"},
		{Name: "loud"},
		{Name: "wait"},
		{Name: "day"},
	}
	if diff := cmp.Diff(want, typ.Texts()); diff != "" {
		t.Error(diff)
	}
	half := 0.5
	for _, c := range []struct {
		given map[string]string
		want  texts
		err   string
	}{
		{map[string]string{"name": "Ada"}, texts{Name: "Ada", Colour: "red", Wait: 30 * time.Second}, ""},
		{
			map[string]string{
				"name": "7", "colour": "green", "level": " 3", "share": "0.5", "exact": "9007199254740993.10", "loud": "true",
				"wait": "1m", "day": "2026-11-30T00:00:00Z",
			},
			texts{"7", "green", 3, &half, "9007199254740993.10", true, time.Minute, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)},
			"",
		},
		{map[string]string{"name": "x", "level": "", "loud": "", "share": ""}, texts{Name: "x", Colour: "red", Wait: 30 * time.Second}, ""},
		{map[string]string{}, texts{}, "name: must be given"},
		{map[string]string{"name": ""}, texts{}, "name: minLength"},
		{map[string]string{"name": "x", "other": "y"}, texts{}, "other: must be left out: there is no such argument"},
		{map[string]string{"name": "x", "colour": "blue"}, texts{}, "colour: enum"},
		{map[string]string{"name": "x", "level": "4"}, texts{}, "level: enum"},
		{map[string]string{"name": "x", "level": "1e9"}, texts{}, "level: must be a whole number"},
		{map[string]string{"name": "x", "level": "1.0"}, texts{}, "level: must be a whole number"},
		{map[string]string{"name": "x", "share": "half"}, texts{}, "share: must be a number"},
		{map[string]string{"name": "x", "share": "true"}, texts{}, "share: must be a number"},
		{map[string]string{"name": "x", "share": "2"}, texts{}, "share: maximum"},
		{map[string]string{"name": "x", "share": "0.5,"}, texts{}, "share: must be a number"},
		{map[string]string{"name": "x", "loud": "yes"}, texts{}, "loud: must be true or false"},
		{map[string]string{"name": "x", "wait": "2m"}, texts{}, "wait: "},
		{map[string]string{"name": "x", "wait": "soon"}, texts{}, "wait: "},
		{map[string]string{"name": "x", "day": "today"}, texts{}, "parsing time"},
	} {
		var got texts
		err := typ.DecodeTexts(c.given, &got)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: got %v, want %q", c.given, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%v: %v %s", c.given, err, diff)
		}
	}
}

func TestWhatCannotBeGivenAsText(t *testing.T) {
	for _, c := range []struct {
		t    reflect.Type
		want string
	}{
		{reflect.TypeFor[struct{ L []string }](), `field "L": is given as text`},
		{reflect.TypeFor[struct{ O struct{ A int } }](), `field "O": is given as text`},
		{reflect.TypeFor[struct{ A any }](), `field "A": is given as text`},
		{reflect.TypeFor[struct{ S secret }](), `field "S": a secret is for configurations`},
		{reflect.TypeFor[map[string]string](), "arguments that are text are a struct"},
		{reflect.TypeFor[json.RawMessage](), "arguments that are text are a struct"},
		{reflect.TypeFor[string](), "arguments"},
	} {
		if _, err := Texts(c.t, testKnown()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.t, err, c.want)
		}
	}
	if none, err := Texts(reflect.TypeFor[struct{}](), nil); err != nil || len(none.Texts()) != 0 || none.DecodeTexts(nil, &struct{}{}) != nil {
		t.Error(none, err)
	}
}

func FuzzDecodeTexts(f *testing.F) {
	typ, err := Texts(reflect.TypeFor[texts](), testKnown())
	if err != nil {
		f.Fatal(err)
	}
	f.Add("name", "Ada", "level", "3")
	f.Add("share", "1e999999999", "exact", "-0")
	f.Add("wait", "1h", "day", "")
	f.Fuzz(func(t *testing.T, a, x, b, y string) {
		if !utf8.ValidString(a+x) || !utf8.ValidString(b+y) {
			return // protobuf lets no such text through
		}
		var got texts
		given := map[string]string{"name": "x", a: x, b: y}
		if typ.DecodeTexts(given, &got) == nil && got.Name != given["name"] {
			t.Errorf("%q: got %q", given, got.Name)
		}
	})
}
