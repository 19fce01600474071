// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// listens bounds the listen streams (MCP 2026-07-28, basic/utilities,
// subscriptions/listen) that each principal holds open.
type listens struct {
	max  int
	mu   sync.Mutex
	open map[string]int // by tool.Principal.String
}

// enter reports whether there is room for one more; leave must follow.
func (l *listens) enter(p tool.Principal) bool {
	who := p.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[who] >= l.max {
		return false
	}
	if l.open == nil {
		l.open = map[string]int{}
	}
	l.open[who]++
	return true
}

func (l *listens) leave(p tool.Principal) {
	who := p.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[who]--; l.open[who] == 0 {
		delete(l.open, who)
	}
}

// errTooManyListens has the code of the HTTP status: codes of MCP's own range
// are not ours to allocate.
var errTooManyListens = &jsonrpc.Error{
	Code:    http.StatusTooManyRequests,
	Message: "too many listen streams are open; close one of them first",
}

// listen holds a listen stream open until the client leaves or the face closes;
// in both cases the SDK then sends the result that ends it.
func (f *Face) listen(ctx context.Context, o *origin, req *mcpsdk.SubscriptionsListenRequest, next mcpsdk.MethodHandler) (mcpsdk.Result, error) {
	if o.stdio { // one over HTTP has been counted before it took a stream
		if !f.listens.enter(o.principal) {
			return nil, errTooManyListens
		}
		defer f.listens.leave(o.principal)
	}
	if !o.stdio { // one over stdio is known by its connection
		f.hearers.enter(req.Session, o.principal, f.listed.now().seenBy(o.principal))
		defer f.hearers.leave(req.Session)
	}
	if n := req.Params.Notifications; n != nil && len(n.ResourceSubscriptions) > 0 {
		granted, release, failed := f.granted(ctx, o, n.ResourceSubscriptions)
		if failed != nil {
			return nil, failed
		}
		defer release()
		n.ResourceSubscriptions = granted
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, end := range []context.Context{o.gone, f.open} {
		defer context.AfterFunc(end, cancel)()
	}
	return next(ctx, methodListen, req)
}

// heartbeat writes server-sent events to a client and, while none are sent, a
// comment now and then: proxies cut what is silent, and a peer that has gone
// without a word is noticed.
type heartbeat struct {
	http.ResponseWriter
	mu   sync.Mutex
	live bool // the SDK has written something: headers are its business until then
	quit chan struct{}
	done chan struct{}
}

// startHeartbeat begins to beat; stop must be called before the handler ends.
func startHeartbeat(w http.ResponseWriter, every time.Duration) *heartbeat {
	h := &heartbeat{ResponseWriter: w, quit: make(chan struct{}), done: make(chan struct{})}
	go h.run(every)
	return h
}

func (h *heartbeat) run(every time.Duration) {
	defer close(h.done)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-h.quit:
			return
		case <-t.C:
		}
		if h.beat() != nil {
			return // the SDK meets the same error
		}
	}
}

func (h *heartbeat) beat() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.live {
		return nil
	}
	if _, err := h.ResponseWriter.Write([]byte(": listening\n\n")); err != nil {
		return err
	}
	_ = http.NewResponseController(h.ResponseWriter).Flush() // as in Flush
	return nil
}

func (h *heartbeat) stop() {
	close(h.quit)
	<-h.done
}

// Write writes one whole event: the SDK writes each in one go.
func (h *heartbeat) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = true
	return h.ResponseWriter.Write(b)
}

// Flush sends what was written. An error is met by the next write.
func (h *heartbeat) Flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = http.NewResponseController(h.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (h *heartbeat) Unwrap() http.ResponseWriter { return h.ResponseWriter }
