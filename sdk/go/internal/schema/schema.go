// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Known maps types to the schemas that they have, whatever their kind.
type Known map[reflect.Type]*jsonschema.Schema

// Type is a Go type as JSON.
type Type struct {
	// JSON is its schema.
	JSON json.RawMessage

	resolved *jsonschema.Resolved // of texts and forms, which every call needs
	shape    *shape               // nil: encoding/json needs no help
	timed    bool                 // holds durations
	loose    bool                 // holds an interface somewhere: numbers must keep their digits
}

// Input describes a type that JSON objects are decoded into: a struct, a map
// with text keys, or json.RawMessage. All faults are joined.
func Input(t reflect.Type, known Known) (*Type, error) { return describe(t, known, true, nil) }

// Output describes a type that is marshalled. All faults are joined.
func Output(t reflect.Type, known Known) (*Type, error) { return describe(t, known, false, nil) }

// Opaque is a type whose schema cannot be inferred or does not matter:
// encoding/json alone reads and writes it, numbers in interfaces keep their
// digits.
func Opaque() *Type { return &Type{loose: true} }

// describe infers the schema of t; narrow, if any, has the last word on it.
func describe(t reflect.Type, known Known, input bool, narrow func(*builder, *jsonschema.Schema, string)) (*Type, error) {
	b := &builder{input: input, known: standard.and(known), seen: map[reflect.Type]bool{}}
	b.survey(t)
	root, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: b.known})
	if err != nil {
		return nil, simplify(err, t)
	}
	shape := b.refine(t, root, t.String())
	nullable(root, false)
	if input && root.Type != "object" {
		if root.Type != "" || base(t) != typeRaw {
			b.fault(t.String(), "arguments are an object, so the type is a struct, a map or json.RawMessage")
		}
		root.Type = "object"
	}
	if narrow != nil {
		narrow(b, root, t.String())
	}
	if len(b.faults) > 0 {
		return nil, errors.Join(b.faults...)
	}
	resolved, err := root.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	described := &Type{JSON: text, shape: shape, timed: shape.timed(), loose: b.loose}
	if narrow != nil {
		described.resolved = resolved
	}
	return described, nil
}

// simplify replaces jsonschema-go's faults by what the author can do.
func simplify(err error, t reflect.Type) error {
	return fmt.Errorf("%v has no JSON Schema that can be inferred (%w): give the schema yourself and use json.RawMessage", t, err)
}

// builder refines one inferred schema.
type builder struct {
	input  bool
	known  Known
	seen   map[reflect.Type]bool
	loose  bool
	faults []error
}

func (b *builder) fault(where, format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

// refine corrects s, which was inferred of t, and returns what decoding has to
// know of it.
func (b *builder) refine(t reflect.Type, s *jsonschema.Schema, where string) *shape {
	t = base(t)
	if b.known[t] != nil {
		if t == typeDuration {
			return &shape{kind: durationShape}
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return b.refineStruct(t, s, where)
	case reflect.Slice, reflect.Array:
		nullable(s, false)
		nullable(s.Items, b.mayBeNull(t.Elem()))
		if elem := b.refine(t.Elem(), s.Items, where+"[]"); elem != nil || !b.input && t.Kind() == reflect.Slice {
			return &shape{kind: listShape, elem: elem}
		}
	case reflect.Map:
		nullable(s.AdditionalProperties, b.mayBeNull(t.Elem()))
		if elem := b.refine(t.Elem(), s.AdditionalProperties, where+"{}"); elem != nil || !b.input {
			return &shape{kind: dictShape, elem: elem}
		}
	case reflect.Interface:
		b.loose = true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if b.input {
			return &shape{kind: integerShape}
		}
	}
	return nil
}

func (b *builder) refineStruct(t reflect.Type, s *jsonschema.Schema, where string) *shape {
	s.Required = nil
	obj := &shape{kind: objectShape, fields: map[string]*shape{}}
	for _, f := range fieldsOf(t) {
		at := where + "." + f.Name
		if f.problem != "" {
			b.fault(at, "%s", f.problem)
			continue
		}
		fs := s.Properties[f.json]
		if fs == nil {
			b.fault(at, "another field is called %q as well", f.json)
			continue
		}
		inner := b.refine(f.Type, fs, at)
		nullable(fs, b.mayBeNull(f.Type) && !f.omit)
		inner = b.applyTags(f, fs, inner, at)
		if !f.omit && f.Type.Kind() != reflect.Pointer && fs.Default == nil {
			s.Required = append(s.Required, f.json)
		}
		if inner != nil {
			inner.optional = f.Type.Kind() == reflect.Pointer
			inner.index, inner.omit = f.Index, f.omit
			obj.fields[f.json] = inner
		}
	}
	if len(obj.fields) == 0 {
		return nil
	}
	return obj
}

// mayBeNull: what a pointer marshals to. Input never has to be null: it is
// left out instead; nil slices and maps are written as empty ones.
func (b *builder) mayBeNull(t reflect.Type) bool { return !b.input && t.Kind() == reflect.Pointer }

// nullable says whether s admits null.
func nullable(s *jsonschema.Schema, yes bool) {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	if yes && len(types) > 0 {
		types = append(types, "null")
	}
	s.Type, s.Types = "", nil
	switch len(types) {
	case 0:
	case 1:
		s.Type = types[0]
	default:
		s.Types = types
	}
}

func base(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
