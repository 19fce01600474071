// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"strconv"
	"strings"
)

// kind is what a node is in the JSON data model.
type kind int

const (
	null kind = iota
	boolean
	number
	text
	list
	mapping
)

// position is a place in the file; both count from 1, 0 is unknown.
type position struct{ line, column int }

// node is one value of the file. Unlike a plain JSON tree it keeps the order of
// keys, the digits of numbers and where everything stands.
type node struct {
	kind   kind
	scalar string // text, the digits of a number, true or false
	items  []*node
	keys   []string // of a mapping, in the file's order
	fields map[string]*node
	key    position // of the key that leads here; zero in a list
	value  position
	bad    bool // already reported: its content means nothing
}

// at is where faults about n are shown: at its key, since the value of a block
// begins a line below.
func (n *node) at() position {
	if n == nil {
		return position{}
	}
	if n.key != (position{}) {
		return n.key
	}
	return n.value
}

// field is the value of a key; nil when the key is absent or has no value. In
// YAML, a key whose children are all commented out has none.
func (n *node) field(name string) *node {
	if n == nil || n.kind != mapping {
		return nil
	}
	if f := n.fields[name]; f != nil && f.kind != null {
		return f
	}
	return nil
}

// child follows one segment of a location: a key or an index.
func (n *node) child(segment string) *node {
	switch n.kind {
	case mapping:
		return n.fields[segment]
	case list:
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(n.items) {
			return n.items[i]
		}
	default:
	}
	return nil
}

// find follows a location as far as it leads: a missing key is shown at the
// mapping that lacks it. sound is false when a bad node lies on the way.
func (n *node) find(location []string) (found *node, whole, sound bool) {
	for _, segment := range location {
		if n.bad {
			return n, false, false
		}
		next := n.child(segment)
		if next == nil {
			return n, false, true
		}
		n = next
	}
	return n, true, !n.bad
}

// tree is n in the form that encoding/json gives with UseNumber.
func (n *node) tree() any {
	switch n.kind {
	case boolean:
		return n.scalar == "true"
	case number:
		return json.Number(n.scalar)
	case text:
		return n.scalar
	case list:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.tree()
		}
		return out
	case mapping:
		out := make(map[string]any, len(n.fields))
		for key, f := range n.fields {
			out[key] = f.tree()
		}
		return out
	case null:
	}
	return nil
}

// nodeOf turns a JSON tree into nodes without positions: the schema's defaults.
func nodeOf(v any) *node {
	switch v := v.(type) {
	case bool:
		return &node{kind: boolean, scalar: strconv.FormatBool(v)}
	case json.Number:
		return &node{kind: number, scalar: v.String()}
	case string:
		return &node{kind: text, scalar: v}
	case []any:
		n := &node{kind: list}
		for _, item := range v {
			n.items = append(n.items, nodeOf(item))
		}
		return n
	case map[string]any:
		n := &node{kind: mapping, fields: map[string]*node{}}
		for key, f := range v {
			n.keys = append(n.keys, key)
			n.fields[key] = nodeOf(f)
		}
		return n
	}
	return &node{kind: null}
}

// shown is n in a fault's text. Long text is cut: it may be a whole file.
func (n *node) shown() string {
	switch n.kind {
	case boolean:
		return n.scalar
	case number:
		return "the number " + cut(n.scalar)
	case text:
		return "text " + strconv.Quote(cut(n.scalar))
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	case null:
	}
	return "empty"
}

func cut(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// join adds a segment to a key path. Keys that would read as several are
// quoted; indices stand in brackets.
func join(path, key string) string {
	key = cut(key)
	if key == "" || strings.ContainsAny(key, ".[]\" \t\r\n:") || !printable(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func printable(s string) bool {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}

// keyPath writes a location of the tree as a key path.
func (n *node) keyPath(location []string) string {
	path := ""
	for _, segment := range location {
		if n != nil && n.kind == list {
			path += "[" + segment + "]"
		} else {
			path = join(path, segment)
		}
		if n != nil {
			n = n.child(segment)
		}
	}
	return path
}
