// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Bounds of what one call may tell its client while it runs.
const (
	// progressRate a second, and as many at once; what comes faster is
	// coalesced into the newest.
	progressRate = 10
	// maxLogs may wait for a slow client; later ones are dropped.
	maxLogs = 64
)

// sink sends to the client; it may block.
type sink interface {
	progress(context.Context, *tool.Progress) error
	log(context.Context, *tool.Log) error
}

// relay takes events from a running call without blocking it, and hands them to
// the client in a goroutine of its own. Progress only grows (MCP 2026-07-28,
// basic/utilities/progress).
type relay struct {
	to    sink
	wake  chan struct{} // holds one
	ended chan struct{}
	done  chan struct{}

	mu      sync.Mutex
	newest  *tool.Progress
	highest float64
	logs    []*tool.Log
	dropped int
}

// newRelay returns a relay that sends with ctx, until it is closed.
func newRelay(ctx context.Context, to sink) *relay {
	r := &relay{
		to: to, wake: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{}),
		highest: math.Inf(-1),
	}
	go r.run(ctx)
	return r
}

// offer takes an event. It does not block.
func (r *relay) offer(e tool.Event) {
	r.mu.Lock()
	switch e := e.(type) {
	case *tool.Progress:
		if e.Progress > r.highest && !math.IsInf(e.Progress, 0) { // NaN is not greater
			r.newest, r.highest = e, e.Progress
		}
	case *tool.Log:
		if len(r.logs) < maxLogs {
			r.logs = append(r.logs, e)
		} else {
			r.dropped++
		}
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close hands over what waits, unless nobody does, and returns when nothing
// more will be sent.
func (r *relay) close(ctx context.Context) {
	if ctx.Err() != nil {
		r.mu.Lock()
		r.newest, r.logs, r.dropped = nil, nil, 0
		r.mu.Unlock()
	}
	close(r.ended)
	<-r.done
}

func (r *relay) run(ctx context.Context) {
	defer close(r.done)
	b := bucket{left: progressRate, filled: time.Now()}
	var full <-chan time.Time // when progress that was held back may go
	for {
		select {
		case <-r.wake:
		case <-full:
		case <-r.ended:
			r.send(ctx, nil)
			return
		}
		full = nil
		if held := r.send(ctx, &b); held {
			full = time.After(b.wait(time.Now()))
		}
	}
}

// send sends every log and, if the bucket allows it or there is none, the
// newest progress. It reports whether progress was held back.
func (r *relay) send(ctx context.Context, b *bucket) (held bool) {
	r.mu.Lock()
	logs, dropped, newest := r.logs, r.dropped, r.newest
	r.logs, r.dropped = nil, 0
	if newest != nil && b != nil && !b.take(time.Now()) {
		newest, held = nil, true
	} else {
		r.newest = nil
	}
	r.mu.Unlock()
	for _, l := range logs {
		if r.to.log(ctx, l) != nil {
			break // the client is gone, or cannot be told
		}
	}
	if dropped > 0 {
		data, _ := marshal(map[string]int{"dropped_log_messages": dropped}) // ints always marshal
		_ = r.to.log(ctx, &tool.Log{Level: "warning", Logger: "toolwharf", Data: data})
	}
	if newest != nil {
		_ = r.to.progress(ctx, newest) // as above
	}
	return held
}

// bucket is a token bucket of progressRate.
type bucket struct {
	left   float64
	filled time.Time
}

func (b *bucket) fill(now time.Time) {
	b.left = min(progressRate, b.left+now.Sub(b.filled).Seconds()*progressRate)
	b.filled = now
}

func (b *bucket) take(now time.Time) bool {
	if b.fill(now); b.left < 1 {
		return false
	}
	b.left--
	return true
}

// wait returns how long it is until one can be taken.
func (b *bucket) wait(now time.Time) time.Duration {
	b.fill(now)
	return time.Duration((1-b.left)/progressRate*float64(time.Second)) + time.Millisecond
}

// sessionSink sends through an SDK session, in the stream of the request that
// the context belongs to.
type sessionSink struct {
	session *mcpsdk.ServerSession
	token   json.RawMessage
}

func (s sessionSink) progress(ctx context.Context, p *tool.Progress) error {
	if s.token == nil {
		return nil
	}
	n := &mcpsdk.ProgressNotificationParams{ProgressToken: s.token, Progress: p.Progress, Message: p.Message}
	if p.Total != nil && !math.IsNaN(*p.Total) && !math.IsInf(*p.Total, 0) {
		n.Total = *p.Total
	}
	return s.session.NotifyProgress(ctx, n)
}

// log sends a message; the SDK holds it against the level that was asked for.
func (s sessionSink) log(ctx context.Context, l *tool.Log) error {
	n := &mcpsdk.LoggingMessageParams{Level: mcpsdk.LoggingLevel(l.Level), Logger: l.Logger, Data: l.Data}
	if !json.Valid(l.Data) {
		n.Data = string(l.Data)
	}
	switch l.Level {
	case "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency":
	default:
		n.Level = "info"
	}
	return s.session.Log(ctx, n) //nolint:staticcheck // deprecated, and asked for
}
