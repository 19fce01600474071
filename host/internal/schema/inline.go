// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"slices"
)

// Inline returns a schema as clients like it: every local reference replaced by
// what it names, no titles, no definitions, no boolean as a property's schema,
// the order of keys kept. It accepts
// exactly what the given one accepts. A schema that refers to itself, that
// would exceed MaxNodes or MaxInlined, or that Compile would refuse for its
// references is returned as given.
func Inline(raw json.RawMessage) json.RawMessage {
	doc, err := read(raw)
	if err != nil {
		return raw
	}
	e := expand(doc)
	if e.nodes(doc.root) > MaxNodes || e.recursive() {
		return raw
	}
	in := inliner{doc: doc, seen: map[*node]bool{}}
	if !in.possible(doc.root) {
		return raw
	}
	out := in.schema(doc.root)
	if out.length() > MaxInlined {
		return raw
	}
	return out.append(nil)
}

// inliner makes a new tree, which shares what has not changed with the old one.
type inliner struct {
	doc  *document
	seen map[*node]bool
}

// possible reports whether everything that a schema refers to can be put in its
// place.
func (in *inliner) possible(n *node) bool {
	if in.seen[n] {
		return true
	}
	in.seen[n] = true
	if n.get("$dynamicRef") != nil || n.get("$recursiveRef") != nil {
		return false
	}
	if in.doc.embedded(n) && in.doc.references(n) {
		return false
	}
	if v := n.get("$ref"); v != nil {
		ref, _ := v.str()
		target := in.doc.resolve(ref)
		if target == nil || !isSchema(target) || !in.possible(target) {
			return false
		}
	}
	for _, sub := range in.doc.dialect.subschemas(n) {
		if !in.possible(sub) {
			return false
		}
	}
	return true
}

// schema returns n without references.
func (in *inliner) schema(n *node) *node {
	if n.kind != '{' {
		return n
	}
	ref, refers := n.get("$ref").str()
	if !refers {
		return &node{kind: '{', members: in.members(n)}
	}
	target := in.schema(in.doc.resolve(ref))
	var beside []member
	switch {
	case !in.doc.dialect.refAlone(n):
		beside = in.members(n)
	case n == in.doc.root: // the dialect stays with the root
		beside = slices.DeleteFunc(slices.Clone(n.members), func(m member) bool { return m.key != "$schema" })
	}
	return combine(target, beside)
}

// members returns the members of n, but the reference, with schemas inlined.
func (in *inliner) members(n *node) []member {
	out := make([]member, 0, len(n.members))
	for _, m := range n.members {
		switch m.key {
		case "$ref", "title", "$defs", "definitions", "$anchor", "$dynamicAnchor":
			continue
		case "$schema":
			if n != in.doc.root {
				continue
			}
		case "$id":
			if s, _ := m.value.str(); n != in.doc.root || s == "" || s[0] == '#' {
				continue
			}
		default:
			m.value = in.held(m)
		}
		out = append(out, m)
	}
	return out
}

// held returns the value of a keyword with the schemas in it inlined.
func (in *inliner) held(m member) *node {
	n := m.value
	switch holds(m.key) {
	case one:
		if isSchema(n) {
			return in.schema(n)
		}
		out := &node{kind: n.kind, text: n.text, items: make([]*node, len(n.items))}
		for i, item := range n.items {
			out.items[i] = in.schema(item)
		}
		return out
	case many:
		out := &node{kind: n.kind, text: n.text, members: slices.Clone(n.members)}
		for i := range out.members {
			out.members[i].value = spelled(in.schema(out.members[i].value))
		}
		return out
	default:
		return n
	}
}

// spelled spells a boolean schema of a property as an object: the TypeScript SDK
// takes nothing else there, and refuses the whole list of tools for one of them.
func spelled(n *node) *node {
	switch n.kind {
	case 't':
		return object()
	case 'f':
		return object(named("not", object()))
	default:
		return n
	}
}

// combine returns a schema that says what target says and what stood beside the
// reference to it. Annotations beside it are the nearer ones; they replace
// those of the target. Whatever else stands beside it is a second schema: the
// two cannot be merged key by key, since keywords such as additionalProperties
// look at their neighbours.
func combine(target *node, beside []member) *node {
	if len(beside) == 0 {
		return target
	}
	if !slices.ContainsFunc(beside, func(m member) bool { return !isAnnotation(m.key) }) {
		switch target.kind {
		case 'f':
			return target
		case 't':
			return object(beside...)
		}
		out := slices.Clone(beside)
		for _, m := range target.members {
			if object(beside...).get(m.key) == nil {
				out = append(out, m)
			}
		}
		return object(out...)
	}
	all := []*node{target}
	out := slices.DeleteFunc(slices.Clone(beside), func(m member) bool {
		if m.key == "allOf" {
			all = append(all, m.value.items...)
		}
		return m.key == "allOf"
	})
	return object(append(out, named("allOf", &node{kind: '[', items: all}))...)
}

// isAnnotation reports whether a keyword has no part in judging.
func isAnnotation(keyword string) bool {
	switch keyword {
	case "$comment", "$id", "$schema", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly":
		return true
	default:
		return false
	}
}
