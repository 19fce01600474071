// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Texts describes a struct whose fields are all given as text, as the arguments
// of a prompt and the variables of a URI template are: text, numbers, true or
// false, and what marshals itself as text. All faults are joined.
func Texts(t reflect.Type, known Known) (*Type, error) {
	return describe(t, known, true, (*builder).textual)
}

func (b *builder) textual(root *jsonschema.Schema, where string) {
	if root.AdditionalProperties == nil || root.AdditionalProperties.Not == nil {
		b.fault(where, "arguments that are text are a struct")
	}
	for _, name := range propertyNames(root) {
		switch p := root.Properties[name]; {
		case p.WriteOnly:
			b.fault(fmt.Sprintf("%s: field %q", where, name), "a secret is for configurations")
		case !slices.Contains([]string{"string", "integer", "number", "boolean"}, p.Type):
			b.fault(fmt.Sprintf("%s: field %q", where, name), "is given as text, so it is text, a number, true or false")
		}
	}
}

// propertyNames are in the order of the fields, as far as that is known.
func propertyNames(root *jsonschema.Schema) []string {
	if len(root.PropertyOrder) == len(root.Properties) {
		return root.PropertyOrder
	}
	names := make([]string, 0, len(root.Properties))
	for name := range root.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Text is one field that is given as text.
type Text struct {
	Name, Description string
	Required          bool
	Enum              []string // the values that are allowed; nil: any
}

// Texts are the fields, in order.
func (t *Type) Texts() []Text {
	if t.resolved == nil {
		return nil
	}
	root := t.resolved.Schema()
	list := make([]Text, 0, len(root.Properties))
	for _, name := range propertyNames(root) {
		p := root.Properties[name]
		text := Text{Name: name, Description: p.Description, Required: slices.Contains(root.Required, name)}
		for _, v := range p.Enum {
			text.Enum = append(text.Enum, fmt.Sprint(v))
		}
		list = append(list, text)
	}
	return list
}

// DecodeTexts reads values that were given as text into a struct, defaults filled
// in, and judges them by the schema: nobody has before. Empty text for what is no
// text is as good as none.
func (t *Type) DecodeTexts(values map[string]string, into any) error {
	if t.resolved == nil {
		return t.Decode(nil, into)
	}
	root := t.resolved.Schema()
	object := make(map[string]json.RawMessage, len(values))
	for name, value := range values {
		p := root.Properties[name]
		if p == nil {
			return &FieldError{Pointer: "/" + name, want: "left out: there is no such argument"}
		}
		if value == "" && p.Type != "string" {
			continue
		}
		raw, want := literalOf(p.Type, value)
		if want != "" {
			return &FieldError{Pointer: "/" + name, want: want}
		}
		object[name] = raw
	}
	for _, name := range root.Required {
		if object[name] == nil {
			return &FieldError{Pointer: "/" + name, want: "given"}
		}
	}
	data, err := marshal(object)
	if err != nil {
		return err
	}
	if err := validate(t.resolved, data); err != nil {
		return misfit(err)
	}
	return t.Decode(data, into)
}

// place is where jsonschema-go says that a value does not fit.
var place = regexp.MustCompile(`^(?:validating root: )?validating /properties/([^:]*): (.*)$`)

func misfit(err error) *FieldError {
	if m := place.FindStringSubmatch(err.Error()); m != nil {
		return &FieldError{Pointer: "/" + m[1], err: errors.New(m[2])}
	}
	return &FieldError{err: err}
}

// literalOf is the JSON of a text, or what would fit.
func literalOf(kind, text string) (raw json.RawMessage, want string) {
	trimmed := json.RawMessage(strings.TrimSpace(text))
	switch kind {
	case "boolean":
		if string(trimmed) != "true" && string(trimmed) != "false" {
			return nil, "true or false"
		}
		return trimmed, ""
	case "integer":
		if !digits.Match(trimmed) {
			return nil, "a whole number"
		}
		return trimmed, ""
	case "number":
		if !json.Valid(trimmed) || trimmed[0] != '-' && (trimmed[0] < '0' || trimmed[0] > '9') {
			return nil, "a number"
		}
		return trimmed, ""
	}
	raw, _ = marshal(text) // text is always JSON
	return raw, ""
}

// digits has no exponent: 1e999999999 would be worked out for ever.
var digits = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
