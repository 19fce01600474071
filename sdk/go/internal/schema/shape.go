// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"time"
)

type shapeKind uint8

const (
	plainShape shapeKind = iota // nothing but a preset
	objectShape
	listShape
	dictShape
	durationShape
	integerShape
)

// shape is what reading and writing has to know of a type beyond
// encoding/json: where durations are text, where integers may come as 42.0,
// what is taken where nothing was given, where null is not expected.
type shape struct {
	kind     shapeKind
	fields   map[string]*shape // object
	elem     *shape            // list, dict; may be nil
	min, max *time.Duration    // duration
	preset   json.RawMessage   // default; nil: none
	optional bool              // a pointer: absent is nil
	index    []int             // of the field that has this shape
	omit     bool              // left out where empty
}

// eager: values of this shape never decode as they are. (Integers do, unless
// somebody writes 42.0.)
func (s *shape) eager() bool {
	return s.any(func(s *shape) bool { return s.preset != nil || s.kind == durationShape })
}

// timed: there are durations in values of this shape.
func (s *shape) timed() bool {
	return s.any(func(s *shape) bool { return s.kind == durationShape })
}

func (s *shape) any(is func(*shape) bool) bool {
	if s == nil {
		return false
	}
	if is(s) || s.elem.any(is) {
		return true
	}
	for _, f := range s.fields {
		if f.any(is) {
			return true
		}
	}
	return false
}

// hasPreset: an absent object of this shape is not the same as its zero value.
func (s *shape) hasPreset() bool {
	for _, f := range s.fields {
		if f.preset != nil || f.kind == objectShape && !f.optional && f.hasPreset() {
			return true
		}
	}
	return false
}

// hollow: somewhere in v is a nil slice or map that would be written as null.
func (s *shape) hollow(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return false
		}
		v = v.Elem()
	}
	switch s.kind {
	case objectShape:
		for _, f := range s.fields {
			fv, err := v.FieldByIndexErr(f.index)
			if err != nil || f.omit && fv.IsZero() {
				continue
			}
			if f.hollow(fv) {
				return true
			}
		}
	case listShape:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return true
		}
		for i := 0; s.elem != nil && i < v.Len(); i++ {
			if s.elem.hollow(v.Index(i)) {
				return true
			}
		}
	case dictShape:
		if v.IsNil() {
			return true
		}
		if s.elem == nil {
			break
		}
		for it := v.MapRange(); it.Next(); {
			if s.elem.hollow(it.Value()) {
				return true
			}
		}
	default:
	}
	return false
}
