// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// lifetime is how long a connection is used. A new one also learns what the
// guard has to know of the schema.
const lifetime = 5 * time.Minute

// pool keeps connections for the next call. Its slots bound how many there are.
type pool struct {
	slots chan struct{} // one for each connection in use
	mu    sync.Mutex
	idle  []*conn
	once  sync.Once // of close
}

func newPool(size int) *pool { return &pool{slots: make(chan struct{}, max(1, size))} }

// acquire waits for its turn and takes a connection, a new one if fresh.
func (d *DB) acquire(ctx context.Context) (*conn, error) {
	if err := d.pool.enter(ctx, d.limits.ConnectionWait); err != nil {
		return nil, err
	}
	for c := d.pool.pop(); c != nil; c = d.pool.pop() {
		if time.Since(c.born) < lifetime {
			return c, nil
		}
		c.close()
	}
	c, err := d.connect(ctx)
	if err != nil {
		<-d.pool.slots
		return nil, err
	}
	return c, nil
}

func (p *pool) enter(ctx context.Context, wait time.Duration) error {
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
		return engine.PoolBusy(wait, cap(p.slots))
	}
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = slices.Delete(p.idle, n-1, n)
	return c
}

// release takes a connection back. Its slot is free only once a spent one is
// gone, so that there are never more of them than slots.
func (p *pool) release(c *conn) {
	if c.spent {
		c.close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	<-p.slots
}

// flush closes what is idle: where one connection was lost the others most
// likely are too.
func (p *pool) flush() {
	for c := p.pop(); c != nil; c = p.pop() {
		c.close()
	}
}

func (p *pool) counts() (open, busy int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle) + len(p.slots), len(p.slots)
}

func (p *pool) close() {
	p.once.Do(func() {
		for range cap(p.slots) {
			p.slots <- struct{}{}
		}
		p.flush()
	})
}
