// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"iter"
	"strconv"
	"strings"
)

// dialect is a version of JSON Schema.
type dialect int

// The dialects that are read.
const (
	draft2020 dialect = iota
	draft07
)

// dialectOf returns the dialect of a root schema; false for an unknown one.
func dialectOf(root *node) (dialect, bool) {
	v := root.get("$schema")
	if v == nil {
		return draft2020, true
	}
	s, _ := v.str()
	s = strings.TrimPrefix(strings.TrimPrefix(s, "http://"), "https://")
	switch strings.TrimSuffix(s, "#") {
	case "json-schema.org/draft/2020-12/schema":
		return draft2020, true
	case "json-schema.org/draft-07/schema":
		return draft07, true
	default:
		return 0, false
	}
}

// holding is what the value of a keyword holds.
type holding int

const (
	one  holding = iota + 1 // a schema, or an array of them
	many                    // an object of schemas by name
)

// holds are the keywords that hold schemas. Both dialects share the table:
// neither uses a keyword of the other for anything else.
func holds(keyword string) holding {
	switch keyword {
	case "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if",
		"items", "not", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties":
		return one
	case "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties":
		return many
	default:
		return 0
	}
}

// isSchema reports whether n can be a schema. Where it cannot, it is a list of
// names ("dependencies") or a fault that the metaschema finds.
func isSchema(n *node) bool { return n.kind == '{' || n.kind == 't' || n.kind == 'f' }

// subschemas yields the schemas directly in n, each with its JSON pointer from
// n, in n's order. In draft-07 whatever stands beside a reference is not there
// (draft-07 core, section 8.3), except that references may lead into it.
func (d dialect) subschemas(n *node) iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) {
		alone := d.refAlone(n)
		for _, m := range n.members {
			if alone && m.key != "definitions" && m.key != "$defs" {
				continue
			}
			for pointer, sub := range subschemasOf(m) {
				if !yield(pointer, sub) {
					return
				}
			}
		}
	}
}

// refAlone reports whether n is a reference beside which nothing counts.
func (d dialect) refAlone(n *node) bool {
	_, ok := n.get("$ref").str()
	return ok && d == draft07
}

func subschemasOf(m member) iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) {
		at := "/" + escape(m.key)
		switch holds(m.key) {
		case one:
			if isSchema(m.value) {
				yield(at, m.value)
				return
			}
			for i, item := range m.value.items {
				if isSchema(item) && !yield(at+"/"+strconv.Itoa(i), item) {
					return
				}
			}
		case many:
			for _, mm := range m.value.members {
				if isSchema(mm.value) && !yield(at+"/"+escape(mm.key), mm.value) {
					return
				}
			}
		}
	}
}
