// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shape is one schema of schema.json, read as data: what a key is called, what
// it expects, what it defaults to. Its references are resolved. The zero shape
// knows nothing.
type shape struct{ keywords map[string]any }

// inline replaces every $ref into $defs by what it names. Keywords beside a
// $ref win: they are the description and the default of one use. The schema has
// no cycles.
func inline(v any, defs map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		if ref, ok := v["$ref"].(string); ok {
			target, _ := inline(defs[strings.TrimPrefix(ref, "#/$defs/")], defs).(map[string]any)
			maps.Copy(out, target)
		}
		for key, below := range v {
			if key != "$ref" && key != "$defs" {
				out[key] = inline(below, defs)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = inline(item, defs)
		}
		return out
	}
	return v
}

// sub is the schema under a keyword.
func (s shape) sub(v any) (shape, bool) {
	m, ok := v.(map[string]any)
	return shape{m}, ok
}

// alternatives are the schemas of anyOf; s itself where there is none.
func (s shape) alternatives() []shape {
	of, _ := s.keywords["anyOf"].([]any)
	var out []shape
	for _, v := range of {
		if alt, ok := s.sub(v); ok {
			out = append(out, alt)
		}
	}
	if out == nil {
		return []shape{s}
	}
	return out
}

// branch is the alternative for values of kind k; the first where none fits.
func (s shape) branch(k kind) shape {
	alts := s.alternatives()
	for _, alt := range alts {
		if slices.Contains(alt.types(), k) {
			return alt
		}
	}
	return alts[0]
}

var kindNames = map[string]kind{
	"null": null, "boolean": boolean, "number": number, "integer": number, "string": text, "array": list, "object": mapping,
}

// typeNames are the schema's own names of what it accepts.
func (s shape) typeNames() []string {
	switch t := s.keywords["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, v := range t {
			out = append(out, fmt.Sprint(v))
		}
		return out
	}
	return nil
}

func (s shape) types() []kind {
	names := s.typeNames()
	out := make([]kind, len(names))
	for i, name := range names {
		out[i] = kindNames[name]
	}
	return out
}

// property is the schema of a mapping's key.
func (s shape) property(name string) (shape, bool) {
	s = s.branch(mapping)
	if properties, ok := s.keywords["properties"].(map[string]any); ok {
		if p, ok := s.sub(properties[name]); ok {
			return p, true
		}
	}
	return s.sub(s.keywords["additionalProperties"])
}

// item is the schema of a list's items.
func (s shape) item() (shape, bool) {
	return s.sub(s.branch(list).keywords["items"])
}

// child is the schema of a segment of a location below a node of kind k.
func (s shape) child(k kind, segment string) shape {
	if k == list {
		c, _ := s.item()
		return c
	}
	c, _ := s.property(segment)
	return c
}

// known are the names of the keys that a mapping may have.
func (s shape) known() []string {
	properties, _ := s.branch(mapping).keywords["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// requires reports whether a mapping must have the key.
func (s shape) requires(name string) bool {
	required, _ := s.branch(mapping).keywords["required"].([]any)
	return slices.Contains(required, any(name))
}

// names is the schema of a mapping's keys.
func (s shape) names() (shape, bool) { return s.sub(s.keywords["propertyNames"]) }

func (s shape) word(keyword string) string {
	w, _ := s.keywords[keyword].(string)
	return w
}

func (s shape) flag(keyword string) bool {
	f, _ := s.keywords[keyword].(bool)
	return f
}

var typeWords = map[string]string{
	"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
	"array": "a list", "object": "a mapping (key: value)", "null": "empty",
}

// expects says what a value of this schema is, to follow "must be".
func (s shape) expects() string {
	var words []string
	for _, alt := range s.alternatives() {
		if w := alt.word("patternErrorMessage"); w != "" {
			words = append(words, w)
			continue
		}
		if enum, ok := alt.keywords["enum"].([]any); ok {
			words = append(words, oneOf(enum))
			continue
		}
		for _, name := range alt.typeNames() {
			words = append(words, typeWords[name])
		}
	}
	return strings.Join(words, " or ")
}

// oneOf lists the values of an enum.
func oneOf(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%q", v) // all of them are text
	}
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// texts are the values of an enum that are text.
func (s shape) texts() []string {
	enum, _ := s.keywords["enum"].([]any)
	var out []string
	for _, v := range enum {
		if t, ok := v.(string); ok {
			out = append(out, t)
		}
	}
	return out
}
