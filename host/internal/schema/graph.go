// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// inPlace yields the schemas that a value is held against because it is held
// against s.
func inPlace(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		single := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
		if s.DynamicRef != nil { // one document: the dynamic scope has one candidate
			single = append(single, s.DynamicRef.Ref)
		}
		for _, list := range [][]*jsonschema.Schema{single, s.AllOf, s.AnyOf, s.OneOf} {
			for _, sub := range list {
				if sub != nil && !yield(sub) {
					return
				}
			}
		}
		for _, sub := range s.DependentSchemas {
			if !yield(sub) {
				return
			}
		}
		for _, dependency := range s.Dependencies {
			if sub, ok := dependency.(*jsonschema.Schema); ok && !yield(sub) {
				return
			}
		}
	}
}

// below yields the schemas that parts of a value are held against.
func below(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, sub := range s.Properties {
			if !yield(sub) {
				return
			}
		}
		for _, sub := range s.PatternProperties {
			if !yield(sub) {
				return
			}
		}
		list := append([]*jsonschema.Schema{
			s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
		}, s.PrefixItems...)
		for _, v := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
			switch v := v.(type) {
			case *jsonschema.Schema:
				list = append(list, v)
			case []*jsonschema.Schema:
				list = append(list, v...)
			}
		}
		for _, sub := range list {
			if sub != nil && !yield(sub) {
				return
			}
		}
	}
}

// everySchema yields root and all that can be reached from it, each once.
func everySchema(root *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		seen := map[*jsonschema.Schema]bool{root: true}
		queue := []*jsonschema.Schema{root}
		for len(queue) > 0 {
			s := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			if !yield(s) {
				return
			}
			for _, subs := range []iter.Seq[*jsonschema.Schema]{inPlace(s), below(s)} {
				for sub := range subs {
					if !seen[sub] {
						seen[sub] = true
						queue = append(queue, sub)
					}
				}
			}
		}
	}
}

// circle finds a schema that a value would be held against for ever: one that
// leads back to itself without descending into the value.
func circle(root *jsonschema.Schema) (*jsonschema.Schema, bool) {
	const open, done = 1, 2
	state := map[*jsonschema.Schema]int{}
	var visit func(s *jsonschema.Schema) bool
	visit = func(s *jsonschema.Schema) bool {
		state[s] = open
		for sub := range inPlace(s) {
			if state[sub] == open || state[sub] == 0 && visit(sub) {
				return true
			}
		}
		state[s] = done
		return false
	}
	all := slices.SortedFunc(everySchema(root), func(a, b *jsonschema.Schema) int {
		return strings.Compare(a.Location, b.Location)
	})
	for _, s := range all {
		if state[s] == 0 && visit(s) {
			return s, true
		}
	}
	return nil, false
}

// forgetAnnotations drops what judging does not need: the library keeps it for
// as long as the schema lives.
func forgetAnnotations(s *jsonschema.Schema) {
	s.Title, s.Description, s.Comment, s.Default, s.Examples = "", "", "", nil, nil
}

// pointerOf returns the JSON pointer in a location of the library.
func pointerOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	if pointer, err := url.PathUnescape(fragment); err == nil {
		return pointer
	}
	return fragment
}
