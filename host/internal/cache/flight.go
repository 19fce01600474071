// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Flight is one call that others with the same key wait for.
type Flight struct {
	cache  *Cache
	key    Key
	ctx    context.Context //nolint:containedctx // it is nobody's own: it ends when the last of them has gone
	cancel context.CancelCauseFunc
	stop   func() bool // looking whether who leads has gone
	landed chan struct{}
	// waiting is guarded by the cache's mutex.
	waiting int
	// result and err are written before landed is closed.
	result *tool.Result
	err    *tool.Error
}

// Board joins the flight of a key, or begins one: then lead is true, what is sent is
// to heed Context, and Land must be called, once.
func (c *Cache) Board(ctx context.Context, k Key) (f *Flight, lead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f = c.flights[k]; f != nil {
		f.waiting++
		return f, false
	}
	f = &Flight{cache: c, key: k, landed: make(chan struct{}), waiting: 1}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.flights[k] = f
	f.stop = context.AfterFunc(ctx, func() { f.leave(context.Cause(ctx)) })
	return f, true
}

// Context ends when the last that waits for the flight has gone.
func (f *Flight) Context() context.Context { return f.ctx }

// leave is one that does not wait any more. The last one takes the flight off, so
// that nobody boards what is about to be cancelled.
func (f *Flight) leave(why error) {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return
	}
	f.over()
	f.cancel(why)
}

// over: nobody boards any more.
func (f *Flight) over() {
	if f.cache.flights[f.key] == f {
		delete(f.cache.flights, f.key)
	}
}

// Land gives those who wait what came: a result, the adapter's own error, or neither,
// if that concerns the one call that was sent and no other.
func (f *Flight) Land(r *tool.Result, err *tool.Error) {
	f.cache.mu.Lock()
	f.over()
	f.cache.mu.Unlock()
	if r != nil {
		f.result = copyOf(r)
	}
	f.err = err
	close(f.landed)
	f.stop()
	f.cancel(nil)
}

// Wait returns what came, each time a copy. It is shared unless nothing that concerns
// anybody else came: then each has to ask for itself. The error is that of ctx, if
// that has ended.
func (f *Flight) Wait(ctx context.Context) (r *tool.Result, err *tool.Error, shared bool) {
	select {
	case <-f.landed:
	case <-ctx.Done():
		f.leave(context.Cause(ctx))
		return nil, tool.Interrupted(ctx, "waiting for the answer to an equal call"), true
	}
	switch {
	case f.err != nil:
		own := *f.err
		return nil, &own, true
	case f.result != nil:
		return copyOf(f.result), nil, true
	default:
		return nil, nil, false
	}
}
