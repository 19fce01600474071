// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"container/list"
	"sync"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const (
	// memorySize is how many verdicts are kept, memoryText how long a text may
	// be to have its verdict kept: a megabyte at most, together.
	memorySize = 256
	memoryText = 4 << 10
)

// memory keeps the verdicts of the statements that were judged last. Refusals
// are not kept: who is refused changes the statement.
type memory struct {
	mu     sync.Mutex
	recent list.List // of *recollection, the latest first
	byText map[string]*list.Element
}

type recollection struct {
	text    string
	verdict engine.Verdict
}

// find is a copy of what is known of a text, or nil.
func (m *memory) find(text string) *engine.Verdict {
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
	v := r.verdict
	return &v
}

func (m *memory) keep(text string, v *engine.Verdict) {
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
	m.byText[text] = m.recent.PushFront(&recollection{text, *v})
	if m.recent.Len() > memorySize {
		oldest := m.recent.Back()
		if r, ok := m.recent.Remove(oldest).(*recollection); ok {
			delete(m.byText, r.text)
		}
	}
}
