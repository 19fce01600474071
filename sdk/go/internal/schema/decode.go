// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// FieldError is a value that does not fit its place.
type FieldError struct {
	// Pointer is an RFC 6901 pointer to the place; empty: the whole, or unknown.
	Pointer string

	want string // what would fit
	got  string // a word of JSON; empty: unsaid
	err  error  // what the type itself said; it may quote the value
}

// Error names the place and may quote the value.
func (e *FieldError) Error() string {
	s := e.Plain()
	if e.err != nil {
		s = e.err.Error()
	}
	if e.Pointer != "" {
		s = fmt.Sprintf("%s: %s", strings.TrimPrefix(e.Pointer, "/"), s)
	}
	return s
}

// Plain says what is wrong without the place and without quoting the value.
func (e *FieldError) Plain() string {
	s := "must be " + e.want
	if e.want == "" {
		s = "cannot be read"
	}
	if e.got != "" {
		s += ", not " + e.got
	}
	return s
}

// Unwrap is what the type itself said.
func (e *FieldError) Unwrap() error { return e.err }

// Decode reads one JSON object into a value of the type, defaults filled in.
// Empty data is an empty object. Errors are *FieldError. Data is not validated
// against the schema; json.RawMessage keeps data itself.
func (t *Type) Decode(data []byte, into any) error {
	if len(data) == 0 {
		data = []byte("{}")
	}
	if raw, ok := into.(*json.RawMessage); ok {
		*raw = data
		return nil
	}
	ready, err := reader{}.read(data, t.shape, nil)
	if err == nil {
		err = t.unmarshal(ready, into)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && strings.HasPrefix(mismatch.Value, "number") {
		// 42.0 is an integer to JSON Schema, but not to encoding/json.
		whole, again := (reader{integers: true}).read(data, t.shape, nil)
		if again == nil {
			reflect.ValueOf(into).Elem().SetZero()
			err = t.unmarshal(whole, into)
		}
	}
	return fieldError(err)
}

func (t *Type) unmarshal(data []byte, into any) error {
	if !t.loose {
		return json.Unmarshal(data, into)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(into)
	if err == nil {
		if _, end := d.Token(); end == io.EOF {
			return nil
		}
	}
	// A Decoder has words of its own for what is not JSON, and for what follows.
	if syntax := json.Unmarshal(data, new(json.RawMessage)); syntax != nil {
		return syntax
	}
	return err
}

// Validate judges data by the schema. It is for people at a terminal: a host
// has validated already, so that of most schemas only the text is kept: what they
// are resolved to is many times as large.
func (t *Type) Validate(data []byte) error {
	if t.resolved != nil || t.JSON == nil {
		return validate(t.resolved, data)
	}
	g, err := Parse(t.JSON, false)
	if err != nil {
		return err
	}
	return g.Validate(data)
}

func fieldError(err error) error {
	if err == nil {
		return nil
	}
	if field, ok := errors.AsType[*FieldError](err); ok {
		return field
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		got, _, _ := strings.Cut(mismatch.Value, " ")
		e := &FieldError{want: wordFor(mismatch.Type), got: article(got)}
		if mismatch.Field != "" {
			e.Pointer = "/" + strings.ReplaceAll(mismatch.Field, ".", "/")
		}
		if got == "number" {
			e.got = "" // it does not fit: too large, or a fraction
		}
		return e
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &FieldError{want: fmt.Sprintf("valid JSON (see byte %d)", syntax.Offset)}
	}
	return &FieldError{err: err}
}

// wordFor says in JSON's words what fits t.
func wordFor(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		return fmt.Sprintf("an integer of type %s", t.Kind())
	}
	return "something else"
}

func article(word string) string {
	switch word {
	case "string":
		return "text"
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return word
}
