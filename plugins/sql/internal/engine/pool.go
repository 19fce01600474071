// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Conn is a connection that a [Pool] may keep.
type Conn interface {
	Close()
	// Spent says that it is not to be used again.
	Spent() bool
}

// Pool hands out connections, the last used first: it has most of what the next
// call needs at hand. Its slots bound how many there are.
type Pool[C Conn] struct {
	slots chan struct{} // one for each connection in use
	mu    sync.Mutex
	idle  []C
	once  sync.Once // of Close
}

// NewPool makes a pool of at most size connections, and at least one.
func NewPool[C Conn](size int) *Pool[C] {
	return &Pool[C]{slots: make(chan struct{}, max(1, size))}
}

// Acquire waits for its turn, at most for wait, and takes a connection: one that is
// idle and still fit, or a new one. It must be released. Errors are [PoolBusy], the
// context's, or connect's.
func (p *Pool[C]) Acquire(ctx context.Context, wait time.Duration, fit func(C) bool, connect func(context.Context) (C, error)) (C, error) {
	var none C
	if err := p.enter(ctx, wait); err != nil {
		return none, err
	}
	for c, ok := p.pop(); ok; c, ok = p.pop() {
		if fit(c) {
			return c, nil
		}
		c.Close()
	}
	c, err := connect(ctx)
	if err != nil {
		<-p.slots
		return none, err
	}
	return c, nil
}

func (p *Pool[C]) enter(ctx context.Context, wait time.Duration) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return PoolBusy(wait, cap(p.slots))
	}
}

func (p *Pool[C]) pop() (c C, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return c, false
	}
	c = p.idle[n-1]
	p.idle = slices.Delete(p.idle, n-1, n)
	return c, true
}

// Release takes a connection back. Its slot is free only once a spent one is gone,
// so that there are never more of them than slots.
func (p *Pool[C]) Release(c C) {
	if c.Spent() {
		c.Close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	<-p.slots
}

// Flush closes what is idle.
func (p *Pool[C]) Flush() {
	for c, ok := p.pop(); ok; c, ok = p.pop() {
		c.Close()
	}
}

// Counts are the connections that are open, that are in use, and that may be.
func (p *Pool[C]) Counts() (opened, busy, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	busy = len(p.slots)
	return len(p.idle) + busy, busy, cap(p.slots)
}

// Close waits for every connection and closes it. Nothing can be acquired
// afterwards.
func (p *Pool[C]) Close() {
	p.once.Do(func() {
		for range cap(p.slots) {
			p.slots <- struct{}{}
		}
		p.Flush()
	})
}
