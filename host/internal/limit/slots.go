// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package limit bounds how much may happen at once, how often, and in all.
package limit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// queueFactor times an adapter's slots may wait for one of them.
const queueFactor = 4

// Slots bounds the calls that each adapter has in flight. Those beyond wait:
// principals get their turns one after the other, and the calls of one in the
// order in which they came. So whoever sends a thousand calls waits for them, and
// nobody else does. The zero Slots is ready.
type Slots struct {
	mu       sync.Mutex
	adapters map[string]*lane
}

// lane is one adapter's slots.
type lane struct {
	max     int // as Acquire was told last
	used    int
	waiting int
	// lines are those of the principals that wait, the next to get a slot first.
	lines []*line
}

// line is what waits of one principal.
type line struct {
	who   string
	turns []*turn
}

// turn is one call that waits. Who closes done has settled what it gets.
type turn struct {
	done   chan struct{}
	pushed bool // out of the queue, else it has a slot
}

// Acquire takes one of max slots of an adapter for a principal, waiting until it is
// its turn or ctx ends. release must be called, once. max 0 is no bound. An error is
// of kind RateLimited, Timeout or Cancelled; nothing was sent.
//
// Beyond the queue a call is refused, unless somebody else has at least two more
// waiting: then the last of those is. So a full queue is nobody's alone.
func (s *Slots) Acquire(ctx context.Context, adapter, who string, max int) (release func(), _ *tool.Error) {
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
	if l.waiting >= queueFactor*max && !l.pushOut(who) {
		s.mu.Unlock()
		return nil, busy(adapter, max)
	}
	t := &turn{done: make(chan struct{})}
	l.enqueue(who, t)
	s.mu.Unlock()
	select {
	case <-t.done:
	case <-ctx.Done():
		if !s.leave(adapter, who, t) {
			return nil, tool.Interrupted(ctx, "waiting for adapter "+adapter)
		}
	}
	if t.pushed {
		return nil, busy(adapter, max)
	}
	return func() { s.release(adapter) }, nil
}

func busy(adapter string, max int) *tool.Error {
	err := tool.Errorf(tool.RateLimited, "adapter_busy",
		"adapter %s has %d calls in flight and %d waiting; try again later", adapter, max, queueFactor*max)
	err.RetryAfter = time.Second
	return err
}

// Counts are an adapter's calls in flight, and those that wait for a slot.
func (s *Slots) Counts(adapter string) (used, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.adapters[adapter]
	if l == nil {
		return 0, 0
	}
	return l.used, l.waiting
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

// of returns a principal's line and where it stands, -1 if nothing of it waits.
func (l *lane) of(who string) (int, *line) {
	for i, one := range l.lines {
		if one.who == who {
			return i, one
		}
	}
	return -1, nil
}

func (l *lane) enqueue(who string, t *turn) {
	_, own := l.of(who)
	if own == nil {
		own = &line{who: who}
		l.lines = append(l.lines, own)
	}
	own.turns = append(own.turns, t)
	l.waiting++
}

// pushOut makes room for a principal at the cost of the one that has most waiting,
// if that is fair.
func (l *lane) pushOut(who string) bool {
	longest := l.lines[0]
	for _, one := range l.lines {
		if len(one.turns) > len(longest.turns) {
			longest = one
		}
	}
	own := 0
	if _, mine := l.of(who); mine != nil {
		own = len(mine.turns)
	}
	if len(longest.turns) < own+2 {
		return false
	}
	last := len(longest.turns) - 1
	t := longest.turns[last]
	longest.turns = longest.turns[:last]
	l.waiting--
	t.pushed = true
	close(t.done)
	return true
}

// handOn gives free slots to those who wait, in their order. When max has become
// smaller, slots beyond it are not handed on.
func (l *lane) handOn() {
	for l.waiting > 0 && l.used < l.max {
		next := l.lines[0]
		l.lines = slices.Delete(l.lines, 0, 1)
		t := next.turns[0]
		if next.turns = next.turns[1:]; len(next.turns) > 0 {
			l.lines = append(l.lines, next)
		}
		l.waiting--
		l.used++
		close(t.done)
	}
}

// release gives the slot to the next that waits, or back.
func (s *Slots) release(adapter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.adapters[adapter]
	l.used--
	l.handOn()
	if l.used == 0 && l.waiting == 0 {
		delete(s.adapters, adapter)
	}
}

// leave gives up waiting. It reports false when that is all; otherwise the turn has
// come in the meantime, and a slot that it got goes on to the next.
func (s *Slots) leave(adapter, who string, t *turn) (settled bool) {
	s.mu.Lock()
	l := s.adapters[adapter]
	if at, own := l.of(who); own != nil {
		if i := slices.Index(own.turns, t); i >= 0 {
			if own.turns = slices.Delete(own.turns, i, i+1); len(own.turns) == 0 {
				l.lines = slices.Delete(l.lines, at, at+1)
			}
			l.waiting--
			s.mu.Unlock()
			return false
		}
	}
	s.mu.Unlock()
	if t.pushed {
		return true
	}
	s.release(adapter)
	return false
}
