// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
)

// CompileError is why a schema is refused.
type CompileError struct {
	// Pointer is the JSON pointer of the faulty part; empty for the root.
	Pointer string
	Reason  string
}

// Error names where and what.
func (f *CompileError) Error() string {
	if f.Pointer == "" {
		return "schema: " + f.Reason
	}
	return "schema: at " + shown(f.Pointer, 4*maxShown) + ": " + f.Reason
}

func faultf(pointer, format string, args ...any) *CompileError {
	return &CompileError{Pointer: pointer, Reason: fmt.Sprintf(format, args...)}
}

// survey walks a schema before the library sees it: it holds the bounds and
// refuses whatever would have to be fetched.
type survey struct {
	doc       *document
	seen      map[*node]bool
	locations int
	// referred are the schemas that references name. They come last: by then
	// most have been met where they stand.
	referred []referred
}

type referred struct {
	pointer string
	schema  *node
}

// all surveys a schema, those in it and those that are referred to.
func (s *survey) all() error {
	if err := s.schema("", s.doc.root); err != nil {
		return err
	}
	for len(s.referred) > 0 {
		next := s.referred[0]
		s.referred = s.referred[1:]
		if err := s.schema(next.pointer, next.schema); err != nil {
			return err
		}
	}
	return nil
}

// schema surveys one schema and those in it.
func (s *survey) schema(pointer string, n *node) error {
	if s.seen[n] {
		return nil
	}
	s.seen[n] = true
	s.locations += len(pointer)
	switch {
	case len(s.seen) > MaxSubschemas:
		return faultf(pointer, "more than %d subschemas", MaxSubschemas)
	case s.locations > maxLocations:
		return faultf(pointer, "the names of nested schemas are too long")
	case n.get("$schema") != nil:
		if _, ok := dialectOf(n); !ok {
			return faultf(pointer+"/$schema", "unknown dialect %s; 2020-12 and draft-07 are read",
				shown(string(n.get("$schema").append(nil)), maxShown))
		}
	}
	if s.doc.embedded(n) && s.doc.references(n) {
		return faultf(pointer+"/$id", "references in an embedded schema with an $id are not followed")
	}
	if err := s.regexes(pointer, n); err != nil {
		return err
	}
	if err := s.references(pointer, n); err != nil {
		return err
	}
	for at, sub := range s.doc.dialect.subschemas(n) {
		if err := s.schema(pointer+at, sub); err != nil {
			return err
		}
	}
	return nil
}

func (s *survey) references(pointer string, n *node) error {
	for _, keyword := range refKeywords {
		v := n.get(keyword)
		ref, ok := v.str()
		if !ok {
			continue // absent, or a fault that the metaschema finds
		}
		at := pointer + "/" + keyword
		if !strings.HasPrefix(ref, "#") {
			return faultf(at, "reference %s leads out of the schema; nothing is fetched", shown(v.text, maxShown))
		}
		target := s.doc.resolve(ref)
		if target == nil || !isSchema(target) {
			return faultf(at, "reference %s leads nowhere", shown(v.text, maxShown))
		}
		s.referred = append(s.referred, referred{pointerOf(ref), target})
	}
	return nil
}

func (s *survey) regexes(pointer string, n *node) error {
	if s.doc.dialect.refAlone(n) {
		return nil
	}
	if pattern, ok := n.get("pattern").str(); ok {
		if _, err := compileRegex(pattern); err != nil {
			return faultf(pointer+"/pattern", "%s", err)
		}
	}
	patterns := n.get("patternProperties")
	if patterns == nil {
		return nil
	}
	for _, m := range patterns.members {
		if _, err := compileRegex(m.key); err != nil {
			return faultf(pointer+"/patternProperties/"+escape(m.key), "%s", err)
		}
	}
	return nil
}
