// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
	"github.com/toolwharf/toolwharf/bench/internal/rpc"
)

// Target is what gets the load.
type Target struct {
	Address string // host:port
	Path    string // of the MCP endpoint
	PID     int    // of the server; its descendants count as the server too
	Tool    rpc.Tool
}

// CallError says that a call failed, and how. What was measured up to then says
// nothing: a server that refuses is fast.
type CallError struct{ Err error }

func (e *CallError) Error() string { return "a call failed: " + e.Err.Error() }

// Unwrap returns how.
func (e *CallError) Unwrap() error { return e.Err }

// Run has clients call the target for the given time. Each makes a first call
// that is not counted. The first call that fails ends it with a *CallError.
func Run(ctx context.Context, t Target, clients int, length time.Duration) (Slice, error) {
	crew, err := board(ctx, t, clients)
	defer disembark(crew)
	if err != nil {
		return Slice{}, err
	}
	runtime.GC() // not in the middle of the slice, over what the last one left
	tree := proc.Tree(t.PID)
	before, _ := proc.Measure(tree)
	start := time.Now()
	deadline := start.Add(length)
	var failure atomic.Pointer[CallError]
	var wg sync.WaitGroup
	for _, c := range crew {
		wg.Go(func() {
			for failure.Load() == nil && ctx.Err() == nil && time.Now().Before(deadline) {
				if err := c.call(); err != nil {
					failure.CompareAndSwap(nil, &CallError{err})
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	after, _ := proc.Measure(tree)
	pss := proc.PSS(tree...)
	if err := failure.Load(); err != nil {
		return Slice{}, err
	}
	var all []time.Duration
	for _, c := range crew {
		all = append(all, c.latencies...)
	}
	s := summarize(all, took, before, after)
	s.PSS = pss
	return s, ctx.Err()
}

// client is one connection and the latencies of its calls.
type client struct {
	conn      *rpc.Conn
	next      int64 // id of the next call
	latencies []time.Duration
}

// idsPerClient keeps the ids of the clients of one slice apart.
const idsPerClient = 10_000_000

// board connects the clients and lets each make a first call, one after the
// other, so that a slice measures neither connecting nor the first use of
// anything.
func board(ctx context.Context, t Target, clients int) ([]*client, error) {
	crew := make([]*client, 0, clients)
	for i := range clients {
		conn, err := rpc.Dial(ctx, t.Address, t.Path, t.Tool)
		if err != nil {
			return crew, err
		}
		c := &client{conn: conn, next: int64(i) * idsPerClient}
		crew = append(crew, c)
		if err := c.call(); err != nil {
			return crew, &CallError{fmt.Errorf("the first of client %d: %w", i+1, err)}
		}
		c.latencies = c.latencies[:0]
	}
	return crew, nil
}

func disembark(crew []*client) {
	for _, c := range crew {
		_ = c.conn.Close() // the slice is over: there is nothing left to lose
	}
}

func (c *client) call() error {
	c.next++
	start := time.Now()
	err := c.conn.Call(c.next)
	if err == nil {
		c.latencies = append(c.latencies, time.Since(start))
	}
	return err
}
