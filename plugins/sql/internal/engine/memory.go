// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"container/list"
	"slices"
	"sync"
)

// The same statements come again and again; longer ones are rarely the same.
const (
	// memorySize is how many verdicts are kept, memoryText how long a text may
	// be to have its verdict kept: a megabyte at most, together.
	memorySize = 256
	memoryText = 4 << 10
)

// Memory keeps a guard's verdicts on the statements that were judged last. Refusals
// are not kept: who is refused changes the statement. The zero value is empty.
type Memory struct {
	mu     sync.Mutex
	recent list.List // of *recollection, the latest first
	byText map[string]*list.Element
}

type recollection struct {
	text    string
	verdict *Verdict
}

// Find is a copy of what is known of a text, or nil.
func (m *Memory) Find(text string) *Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byText[text]
	if !ok {
		return nil
	}
	m.recent.MoveToFront(e)
	r, ok := e.Value.(*recollection)
	if !ok {
		return nil
	}
	return r.verdict.clone()
}

// Keep remembers a copy of a verdict.
func (m *Memory) Keep(text string, v *Verdict) {
	if len(text) > memoryText || len(v.SQL) > memoryText {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byText == nil {
		m.byText = map[string]*list.Element{}
	}
	if _, ok := m.byText[text]; ok {
		return
	}
	m.byText[text] = m.recent.PushFront(&recollection{text, v.clone()})
	if m.recent.Len() > memorySize {
		if r, ok := m.recent.Remove(m.recent.Back()).(*recollection); ok {
			delete(m.byText, r.text)
		}
	}
}

// clone is for a caller, who may change it.
func (v *Verdict) clone() *Verdict {
	c := *v
	c.Tables, c.Functions = slices.Clone(v.Tables), slices.Clone(v.Functions)
	return &c
}
