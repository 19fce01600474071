// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"slices"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Bounds of a store.
type Bounds struct {
	// Each, Principal and All are bytes: of one result, of all those of one
	// principal, and of all together.
	Each, Principal, All int
	// For is how long a result is kept.
	For time.Duration
}

// Default are the bounds of a host. A result may become twice as long when it is
// written as text in JSON, and lines of stdio have at most 16 MiB.
var Default = Bounds{Each: 7 << 20, Principal: 16 << 20, All: 64 << 20, For: 15 * time.Minute}

// Result is one result that is kept.
type Result struct {
	// ID is of the form of a call's, and cannot be guessed.
	ID string
	// Owner is tool.Principal.String of who called.
	Owner string
	// Spec is that of the tool that was called.
	Spec tool.Spec
	// JSON is the structured content, redacted.
	JSON []byte
}

// Store keeps results. It is safe for concurrent use.
type Store struct {
	bounds Bounds

	mu    sync.Mutex
	byID  map[string]*held
	queue []*held // the oldest first
	bytes map[string]int
	total int
}

type held struct {
	Result

	end *time.Timer
}

// New returns an empty store.
func New(b Bounds) *Store {
	return &Store{bounds: b, byID: map[string]*held{}, bytes: map[string]int{}}
}

// For is how long a result is kept.
func (s *Store) For() time.Duration { return s.bounds.For }

// Keep keeps a result, and reports whether it does: not one that is larger than one
// may be, nor a second one of an id.
func (s *Store) Keep(r Result) bool {
	if len(r.JSON) > min(s.bounds.Each, s.bounds.Principal, s.bounds.All) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[r.ID] != nil {
		return false
	}
	h := &held{Result: r}
	h.end = time.AfterFunc(s.bounds.For, func() { s.expire(h) })
	s.byID[r.ID], s.queue = h, append(s.queue, h)
	s.bytes[r.Owner] += len(r.JSON)
	s.total += len(r.JSON)
	for s.bytes[r.Owner] > s.bounds.Principal {
		s.drop(s.oldest(r.Owner))
	}
	for s.total > s.bounds.All {
		s.drop(s.oldest(s.largest()))
	}
	return s.byID[r.ID] == h
}

// Find returns the result of an id, whoever asks: whose it is, it says.
func (s *Store) Find(id string) (Result, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.byID[id]
	if h == nil {
		return Result{}, false
	}
	return h.Result, true
}

// Close forgets everything.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		s.drop(s.queue[0])
	}
}

func (s *Store) expire(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[h.ID] == h {
		s.drop(h)
	}
}

func (s *Store) drop(h *held) {
	h.end.Stop()
	delete(s.byID, h.ID)
	s.queue = slices.DeleteFunc(s.queue, func(x *held) bool { return x == h })
	s.total -= len(h.JSON)
	if s.bytes[h.Owner] -= len(h.JSON); s.bytes[h.Owner] == 0 {
		delete(s.bytes, h.Owner)
	}
}

func (s *Store) oldest(owner string) *held {
	return s.queue[slices.IndexFunc(s.queue, func(h *held) bool { return h.Owner == owner })]
}

// largest is who has the most.
func (s *Store) largest() (owner string) {
	most := -1
	for _, h := range s.queue { // in an order that is always the same
		if n := s.bytes[h.Owner]; n > most {
			owner, most = h.Owner, n
		}
	}
	return owner
}
