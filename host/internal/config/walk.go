// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"regexp"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/secret"
)

// walk checks what the schema says of a place and no validator reports well:
// the names of keys, and whether references to secrets can stand there.
func walk(n *node, s shape, path string, faults *report) {
	if n == nil || n.bad {
		return
	}
	if s.flag("x-references") {
		references(n, path, faults)
		return
	}
	switch n.kind {
	case text:
		// Only prose may hold the two characters by chance.
		if strings.Contains(n.scalar, "${") && path != "instructions" && s.keywords != nil {
			faults.refuse(path, n.at(), "references work in an adapter's config and env; write the value itself", "a reference is not expanded here")
		}
	case list:
		item, _ := s.item()
		for i, child := range n.items {
			walk(child, item.branch(child.kind), index(path, i), faults)
		}
	case mapping:
		s = s.branch(mapping)
		var allowed *regexp.Regexp
		names, named := s.names()
		if named && len(n.keys) > 0 {
			allowed = regexp.MustCompile(names.word("pattern"))
		}
		for _, key := range n.keys {
			child := n.fields[key]
			if named && !allowed.MatchString(key) {
				faults.refuse(join(path, key), child.at(), "", "the key must be %s", names.expects())
			}
			if p, ok := s.property(key); ok {
				walk(child, p.branch(child.kind), join(path, key), faults)
			}
		}
	default:
	}
}

// references checks the syntax of every reference below n. Whether they lead
// anywhere is known only when the adapter starts.
func references(n *node, path string, faults *report) {
	if n.bad {
		return
	}
	switch n.kind {
	case text:
		_, err := secret.Refs(n.scalar)
		if syntax, ok := errors.AsType[*secret.SyntaxError](err); ok {
			faults.refuse(path, n.at(), "", "%s (character %d)", syntax.Reason, syntax.Column)
		}
	case list:
		for i, child := range n.items {
			references(child, index(path, i), faults)
		}
	case mapping:
		for _, key := range n.keys {
			references(n.fields[key], join(path, key), faults)
		}
	default:
	}
}
