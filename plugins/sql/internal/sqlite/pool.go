// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// lookEvery is how often a connection looks whether its file is still the one
// at the path: a database that is replaced by renaming another one over it
// would otherwise be read for ever.
const lookEvery = time.Second

// pool hands out connections, the last used first: it has the statements of
// the last call prepared and the pages of the last call in memory.
type pool struct {
	slots chan struct{} // one for each connection in use
	mu    sync.Mutex
	idle  []*conn
	once  sync.Once // of close
}

func newPool(size int) *pool { return &pool{slots: make(chan struct{}, size)} }

// acquire waits for a connection. It must be released.
func (d *DB) acquire(ctx context.Context) (*conn, error) {
	if err := d.pool.enter(ctx, d.limits.ConnectionWait); err != nil {
		return nil, err
	}
	for {
		c := d.pool.pop()
		if c == nil {
			break
		}
		if d.current(c) {
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

// close waits for every connection and closes it. Nothing can be acquired
// afterwards.
func (p *pool) close() {
	p.once.Do(func() {
		for range cap(p.slots) {
			p.slots <- struct{}{}
		}
		for c := p.pop(); c != nil; c = p.pop() {
			c.close()
		}
	})
}

// current says whether c still reads the file that is at the path.
func (d *DB) current(c *conn) bool {
	if !d.untouched(c) {
		return false
	}
	now := time.Now()
	if now.Sub(c.looked) < lookEvery {
		return true
	}
	c.looked = now
	info, err := os.Stat(d.path)
	return err == nil && os.SameFile(info, c.file)
}

// counts are the connections that are open, that are in use, and that may be.
func (p *pool) counts() (opened, busy, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	busy = len(p.slots)
	return len(p.idle) + busy, busy, cap(p.slots)
}
