// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// affordable reports whether holding a value of this many canonical bytes
// against the schema stays within MaxEffort.
//
// The library itself cannot be stopped. A small schema that refers to itself
// twice, once in each of two alternatives, doubles its work with every level
// of the value: 2^64 at the depth that is let in.
func (s *Schema) affordable(value any, size int) bool {
	if !s.recursive && (s.nodes+s.steps/stepsPerUnit)*size <= MaxEffort {
		return true
	}
	m := meter{left: MaxEffort}
	m.hold(s.compiled, value)
	return m.left > 0
}

// quickly reports whether a shape may look at a value of this size: its work is
// linear in the size, but for the regular expressions.
func (s *Schema) quickly(size int) bool {
	return s.quick != nil && s.steps/stepsPerUnit*size <= MaxEffort
}

// regexSteps adds up what all regular expressions of a schema can cost for each
// byte of a text.
func regexSteps(s *jsonschema.Schema) int {
	total := 0
	for sub := range everySchema(s) {
		if re, ok := sub.Pattern.(*regex); ok {
			total += re.steps
		}
		for re := range sub.PatternProperties {
			if re, ok := re.(*regex); ok {
				total += re.steps
			}
		}
	}
	return total
}

// One unit of effort is one value held against one schema, about half a
// microsecond; other work is converted.
const (
	stepsPerUnit  = 64 // instructions of a regex, for one byte of text
	digitsPerUnit = 16 // bytes of a number
	namesPerUnit  = 64 // strings in an enum
)

// meter counts what the library is going to do, until too much is known.
type meter struct{ left int }

// hold counts holding a value against a schema.
func (m *meter) hold(s *jsonschema.Schema, value any) {
	m.left--
	if m.left <= 0 || s.Bool != nil {
		return
	}
	if s.Enum != nil {
		m.left -= len(s.Enum.Values) / namesPerUnit
	}
	for sub := range inPlace(s) {
		m.hold(sub, value)
	}
	switch v := value.(type) {
	case map[string]any:
		m.object(s, v)
	case []any:
		m.array(s, v)
	case string:
		if s.Pattern != nil {
			m.match(s.Pattern, v)
		}
	case json.Number:
		m.left -= len(v) / digitsPerUnit
		if s.Enum != nil {
			m.left -= len(s.Enum.Values)
		}
	}
}

func (m *meter) match(re jsonschema.Regexp, text string) {
	if r, ok := re.(*regex); ok {
		m.left -= r.steps * len(text) / stepsPerUnit
	}
}

func (m *meter) object(s *jsonschema.Schema, v map[string]any) {
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for name, value := range v {
		if m.left <= 0 {
			return
		}
		sub, evaluated := s.Properties[name]
		if evaluated {
			m.hold(sub, value)
		}
		for re, sub := range s.PatternProperties {
			m.match(re, name)
			if m.left > 0 && re.MatchString(name) {
				evaluated = true
				m.hold(sub, value)
			}
		}
		if !evaluated && additional != nil {
			m.hold(additional, value)
		}
		if s.PropertyNames != nil {
			m.hold(s.PropertyNames, name)
		}
		if s.UnevaluatedProperties != nil {
			m.hold(s.UnevaluatedProperties, value)
		}
	}
}

func (m *meter) array(s *jsonschema.Schema, v []any) {
	prefix, rest := s.PrefixItems, s.Items2020
	switch items := s.Items.(type) { // draft-07
	case []*jsonschema.Schema:
		prefix = items
		rest, _ = s.AdditionalItems.(*jsonschema.Schema)
	case *jsonschema.Schema:
		rest = items
	}
	for i, item := range v {
		if m.left <= 0 {
			return
		}
		if s.UniqueItems {
			m.left -= sizeOf(item)
		}
		switch {
		case i < len(prefix):
			m.hold(prefix[i], item)
		case rest != nil:
			m.hold(rest, item)
		}
		if s.Contains != nil {
			m.hold(s.Contains, item)
		}
		if s.UnevaluatedItems != nil {
			m.hold(s.UnevaluatedItems, item)
		}
	}
}

// sizeOf counts the values in v.
func sizeOf(v any) int {
	total := 1
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			total += sizeOf(value)
		}
	case []any:
		for _, item := range v {
			total += sizeOf(item)
		}
	}
	return total
}
