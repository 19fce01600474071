// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"runtime"
	"sync"
	"testing"
)

func TestEqualSchemasAreCompiledOnce(t *testing.T) {
	var s Shared
	compile := func(raw string, kind Kind) *Schema {
		t.Helper()
		made, err := s.Compile(json.RawMessage(raw), kind)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	const raw = `{"type":"object","properties":{"id":{"type":"integer"}}}`
	first := compile(raw, Input)
	if compile(raw, Input) != first {
		t.Error("an equal schema was compiled again")
	}
	if compile(raw, Config) == first || compile(raw, Output) == first {
		t.Error("one of another kind is the same: it says other things of what is wrong")
	}
	if compile(raw+" ", Input) == first {
		t.Error("another text is the same")
	}
	if _, err := s.Compile(json.RawMessage(`{"type":7}`), Input); err == nil {
		t.Error("no fault of a schema that is none")
	}
	var wg sync.WaitGroup
	made := make([]*Schema, 8)
	for i := range made {
		wg.Go(func() { made[i], _ = s.Compile(json.RawMessage(`{"type":"object","maxProperties":3}`), Input) })
	}
	wg.Wait()
	for _, m := range made {
		if m == nil || m != made[0] {
			t.Errorf("at the same time: %p and %p", m, made[0])
		}
	}
	runtime.KeepAlive(first)
}

func TestSchemasThatNobodyHasAreForgotten(t *testing.T) {
	var s Shared
	if _, err := s.Compile(json.RawMessage(`{"type":"object"}`), Input); err != nil {
		t.Fatal(err)
	}
	for left := 1; left > 0; {
		runtime.GC() // cleanups run a moment later
		s.mu.Lock()
		left = len(s.held)
		s.mu.Unlock()
	}
}

func TestNoSharedCompilesAsWell(t *testing.T) {
	var none *Shared
	if m, err := none.Compile(json.RawMessage(`{"type":"object"}`), Input); m == nil || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
}
