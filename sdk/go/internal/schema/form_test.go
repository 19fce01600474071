// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
)

type form struct {
	Text    string      `json:"text" jsonschema:"a line" min:"1" max:"80"`
	Mail    string      `json:"mail,omitempty" format:"email"`
	Site    *string     `json:"site" format:"uri"`
	Day     string      `json:"day" format:"date" default:"2026-11-30"`
	At      time.Time   `json:"at"`
	Whole   int64       `json:"whole" min:"1" max:"9"`
	Part    float64     `json:"part,omitempty"`
	Exact   json.Number `json:"exact,omitempty"`
	Huge    *big.Int    `json:"huge"`
	Yes     bool        `json:"yes" default:"true"`
	Choice  string      `json:"choice" enum:"a,b" default:"b"`
	Several []string    `json:"several" enum:"x,y,z" min:"1" max:"2"`
}

func TestFormsAreFlat(t *testing.T) {
	typ, err := Form(reflect.TypeFor[form](), testKnown())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "form", indent(t, typ.JSON)+"\n")
}

func TestAnAnswerMayHaveMoreThanItsForm(t *testing.T) {
	typ, err := Form(reflect.TypeFor[struct {
		N int64 `json:"n"`
	}](), nil)
	if err != nil {
		t.Fatal(err)
	}
	for data, ok := range map[string]bool{
		`{"n":9007199254740993,"more":[]}`: true, `{"n":"1"}`: false, `{}`: false, `[]`: false, `{"n":1.5}`: false,
	} {
		if err := typ.Validate([]byte(data)); (err == nil) != ok {
			t.Errorf("%s: %v", data, err)
		}
	}
}

func TestWhatNoClientShowsIsNoForm(t *testing.T) {
	type wrong struct {
		Nested   struct{ A int }   `json:"nested"`
		Map      map[string]string `json:"map"`
		List     []string          `json:"list"`
		Numbers  []int             `json:"numbers" enum:"1,2"`
		Any      any               `json:"any"`
		Raw      json.RawMessage   `json:"raw"`
		Bytes    []byte            `json:"bytes"`
		Wait     time.Duration     `json:"wait"`
		Format   string            `json:"format" format:"ipv4"`
		Chosen   int               `json:"chosen" enum:"1,2"`
		Token    secret            `json:"token"`
		Password string            `json:"password"`
		Text     string            `json:"text" jsonschema:"your API key"`
		Pin      string            `json:"card_pin"`
	}
	_, err := Form(reflect.TypeFor[wrong](), testKnown())
	if err == nil {
		t.Fatal("no fault")
	}
	const flat = "a form is flat"
	for field, want := range map[string]string{
		"nested": flat, "map": flat, "list": "a choice of several", "numbers": "a choice of several", "any": flat, "raw": flat,
		"bytes": "no bytes", "wait": "no patterns", "format": `format "ipv4"`, "chosen": "only text",
		"token": "asks for a secret", "password": "asks for a secret", "text": "asks for a secret", "card_pin": "asks for a secret",
	} {
		found := false
		for line := range strings.Lines(err.Error()) {
			found = found || strings.Contains(line, `field "`+field+`": `) && strings.Contains(line, want)
		}
		if !found {
			t.Errorf("no %q of %s in\n%v", want, field, err)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct{}](), reflect.TypeFor[map[string]string](), reflect.TypeFor[string](), reflect.TypeFor[json.RawMessage](),
	} {
		if _, err := Form(typ, nil); err == nil {
			t.Errorf("%v is a form", typ)
		}
	}
}

func TestWordsThatOnlyLookLikeSecretsAreAsked(t *testing.T) {
	_, err := Form(reflect.TypeFor[struct {
		Pinboard string `json:"pinboard"`
		Shipping string `json:"shipping"`
		Passage  string `json:"passage"`
		Token    string `json:"token_count"`
	}](), nil)
	if err != nil {
		t.Error(err)
	}
}
