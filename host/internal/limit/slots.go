// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package limit bounds how much may happen at once and in all.
package limit

import (
	"context"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// queueFactor times an adapter's slots may wait for one of them.
const queueFactor = 4

// Slots bounds the calls that each adapter has in flight. Those beyond wait in
// the order in which they came; those beyond the queue are refused. The zero
// Slots is ready.
type Slots struct {
	mu       sync.Mutex
	adapters map[string]*lane
}

// lane is one adapter's slots.
type lane struct {
	max     int // as Acquire was told last
	used    int
	waiting []chan struct{} // closed when its turn has come
}

// Acquire takes one of max slots of an adapter, waiting until one is free or
// ctx ends. release must be called, once. max 0 is no bound. An error is of
// kind RateLimited, Timeout or Cancelled; nothing was sent.
func (s *Slots) Acquire(ctx context.Context, adapter string, max int) (release func(), _ *tool.Error) {
	if max <= 0 {
		return func() {}, nil
	}
	s.mu.Lock()
	l := s.lane(adapter)
	l.max = max
	l.handOn() // when max has grown, those who wait go first
	if l.used < max {
		l.used++
		s.mu.Unlock()
		return func() { s.release(adapter) }, nil
	}
	if len(l.waiting) >= queueFactor*max {
		s.mu.Unlock()
		err := tool.Errorf(tool.RateLimited, "adapter_busy",
			"adapter %s has %d calls in flight and %d waiting; try again later", adapter, max, queueFactor*max)
		err.RetryAfter = time.Second
		return nil, err
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return func() { s.release(adapter) }, nil
	case <-ctx.Done():
		s.leave(adapter, turn)
		return nil, tool.Interrupted(ctx, "waiting for adapter "+adapter)
	}
}

func (s *Slots) lane(adapter string) *lane {
	l := s.adapters[adapter]
	if l == nil {
		l = &lane{}
		if s.adapters == nil {
			s.adapters = map[string]*lane{}
		}
		s.adapters[adapter] = l
	}
	return l
}

// handOn gives free slots to those who wait, in their order. When max has become
// smaller, slots beyond it are not handed on.
func (l *lane) handOn() {
	for len(l.waiting) > 0 && l.used < l.max {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		l.used++
	}
}

// release gives the slot to the first that waits, or back.
func (s *Slots) release(adapter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.adapters[adapter]
	l.used--
	l.handOn()
	if l.used == 0 && len(l.waiting) == 0 {
		delete(s.adapters, adapter)
	}
}

// leave gives up waiting. If the turn had come in the meantime, the slot goes
// on to the next.
func (s *Slots) leave(adapter string, turn chan struct{}) {
	s.mu.Lock()
	l := s.adapters[adapter]
	for i, w := range l.waiting {
		if w == turn {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			s.mu.Unlock()
			return
		}
	}
	s.mu.Unlock()
	s.release(adapter)
}
