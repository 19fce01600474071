// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"net/url"
	"strings"
)

// refKeywords are the keywords whose value names another schema.
// $recursiveRef belongs to neither dialect; the library reads it all the same.
var refKeywords = [...]string{"$ref", "$dynamicRef", "$recursiveRef"}

// document is a schema whose local references can be followed.
type document struct {
	root    *node
	dialect dialect
	// anchors are the names that references can use in place of a JSON
	// pointer.
	anchors map[string]*node
}

func newDocument(root *node, d dialect) *document {
	doc := &document{root: root, dialect: d, anchors: map[string]*node{}}
	doc.collect(root)
	return doc
}

// collect finds the anchors in and below a schema.
func (d *document) collect(n *node) {
	if name, ok := d.anchor(n); ok {
		if _, taken := d.anchors[name]; !taken {
			d.anchors[name] = n
		}
	}
	for _, sub := range d.dialect.subschemas(n) {
		d.collect(sub)
	}
}

// anchor returns the name that a schema has given itself.
func (d *document) anchor(n *node) (string, bool) {
	if d.dialect == draft07 {
		if d.dialect.refAlone(n) {
			return "", false
		}
		id, _ := n.get("$id").str()
		return strings.CutPrefix(id, "#")
	}
	if name, ok := n.get("$anchor").str(); ok {
		return name, true
	}
	return n.get("$dynamicAnchor").str()
}

// embedded reports whether a schema, not the root, declares an identity of its
// own, from which the references in it would start.
func (d *document) embedded(n *node) bool {
	if n == d.root || d.dialect.refAlone(n) {
		return false
	}
	id, ok := n.get("$id").str()
	return ok && !strings.HasPrefix(id, "#")
}

// resolve returns what a reference names, nil if nothing. Only references
// within the document are followed.
func (d *document) resolve(ref string) *node {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	if fragment == "" {
		return d.root
	}
	pointer, ok := strings.CutPrefix(fragment, "/")
	if !ok {
		return d.anchors[fragment]
	}
	n := d.root
	for token := range strings.SplitSeq(pointer, "/") {
		if n = n.at(unescape(token)); n == nil {
			return nil
		}
	}
	return n
}

// references reports whether a schema, or one in it, refers to anything.
func (d *document) references(n *node) bool {
	for _, keyword := range refKeywords {
		if n.get(keyword) != nil {
			return true
		}
	}
	for _, sub := range d.dialect.subschemas(n) {
		if d.references(sub) {
			return true
		}
	}
	return false
}

// escape writes a token of a JSON pointer (RFC 6901, section 3).
func escape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
