// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// result is the member in which a wrapped value stands, inResult where its
// schema stands.
const (
	result   = "result"
	inResult = "/properties/" + result
)

// Wrap returns an output schema whose values are objects, which older clients
// want: a schema of anything else becomes that of {"result": value}, with its
// definitions and dialect at the root and its references rewritten. An object
// schema, and whatever is no schema at all, is returned as given.
func Wrap(raw json.RawMessage) (wrapped json.RawMessage, didWrap bool) {
	doc, err := read(raw)
	if err != nil || doc.rootType() == "object" {
		return raw, false
	}
	w := wrapper{doc: doc, seen: map[*node]bool{}}
	w.rewrite(doc.root)
	out := object(
		named("type", text("object")),
		named("properties", object(named(result, doc.root))),
		named("required", &node{kind: '[', items: []*node{text(result)}}),
	)
	doc.root.members = slices.DeleteFunc(doc.root.members, func(m member) bool {
		switch m.key {
		case "$schema":
			out.members = slices.Insert(out.members, 0, m)
		case "$defs", "definitions":
			out.members = append(out.members, m)
		case "$id":
			// References start from it, but none leads out of the schema.
			id, _ := m.value.str()
			return !strings.HasPrefix(id, "#")
		default:
			return false
		}
		return true
	})
	return out.append(nil), true
}

// WrapValue returns {"result": v}.
func WrapValue(v json.RawMessage) json.RawMessage {
	out := make([]byte, 0, len(v)+len(`{"result":}`))
	out = append(out, `{"result":`...)
	return append(append(out, v...), '}')
}

// wrapper rewrites references for a schema that moves from the root to
// inResult, and its definitions with the root.
type wrapper struct {
	doc  *document
	seen map[*node]bool
}

func (w *wrapper) rewrite(n *node) {
	if w.seen[n] || w.doc.embedded(n) { // there, references start elsewhere
		return
	}
	w.seen[n] = true
	for i := range n.members {
		m := &n.members[i]
		ref, ok := m.value.str()
		if !ok || !slices.Contains(refKeywords[:], m.key) {
			continue
		}
		if target := w.doc.resolve(ref); target != nil {
			w.rewrite(target)
		}
		m.value = text(moved(ref))
	}
	for _, sub := range w.doc.dialect.subschemas(n) {
		w.rewrite(sub)
	}
}

// moved returns where a reference leads after the move. Names stay what they
// are.
func moved(ref string) string {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || pointer != "" && pointer[0] != '/' {
		return ref
	}
	if plain, err := url.PathUnescape(pointer); err == nil {
		first, _, _ := strings.Cut(strings.TrimPrefix(plain, "/"), "/")
		if first == "$defs" || first == "definitions" {
			return ref
		}
	}
	return "#" + inResult + pointer
}
