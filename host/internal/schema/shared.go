// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"crypto/sha256"
	"encoding/json"
	"runtime"
	"sync"
	"weak"
)

// Shared compiles schemas, each once for as long as somebody has it: adapters of
// one program declare the same ones, and a compiled schema is many times its text.
// The zero value is ready for use. A nil one shares nothing.
type Shared struct {
	mu   sync.Mutex
	held map[source]weak.Pointer[Schema]
}

// source is what was compiled.
type source struct {
	kind Kind
	sum  [sha256.Size]byte
}

// Compile is as the function of that name. The schema is the callers' in common.
func (s *Shared) Compile(raw json.RawMessage, kind Kind) (*Schema, error) {
	if s == nil {
		return Compile(raw, kind)
	}
	of := source{kind, sha256.Sum256(raw)}
	if known := s.find(of); known != nil {
		return known, nil
	}
	made, err := Compile(raw, kind)
	if err != nil {
		return nil, err
	}
	return s.keep(of, made), nil
}

func (s *Shared) find(of source) *Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[of].Value()
}

// keep returns the schema that is held: the one that was made, unless another was
// faster.
func (s *Shared) keep(of source, made *Schema) *Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.held[of].Value(); known != nil {
		return known
	}
	if s.held == nil {
		s.held = map[source]weak.Pointer[Schema]{}
	}
	s.held[of] = weak.Make(made)
	runtime.AddCleanup(made, s.forget, of)
	return made
}

// forget forgets a schema that nobody has any more, unless it was made anew.
func (s *Shared) forget(of source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[of].Value() == nil {
		delete(s.held, of)
	}
}
