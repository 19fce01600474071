// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	// maxSubscriptions is how many resources one listen stream, or one stdio
	// connection, may hear of.
	maxSubscriptions = 100
	// newsPause is how long updates are gathered: several of one resource are
	// told as one.
	newsPause = 100 * time.Millisecond
)

// subscriptions are the resources that one stdio connection hears of.
type subscriptions struct {
	mu   sync.Mutex
	held map[string]func() // releases, by URI; nil after close
}

// close releases all of them, and lets nothing be added.
func (s *subscriptions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, release := range s.held {
		release()
	}
	s.held = nil
}

// tellNews tells subscribers that resources have changed.
func (f *Face) tellNews(ctx context.Context) {
	for uris := range f.config.Registry.Updates(ctx) {
		for _, uri := range uris {
			// An error is of a client that has gone.
			_ = f.server.ResourceUpdated(ctx, &mcpsdk.ResourceUpdatedNotificationParams{URI: uri})
		}
		select {
		case <-time.After(newsPause):
		case <-ctx.Done():
			return
		}
	}
}

// maySubscribe judges a subscription.
func (f *Face) maySubscribe(ctx context.Context, o *origin, uri string) error {
	args, err := tool.ParseArgs(nil)
	if err != nil {
		return err
	}
	return f.config.Executor.Subscribe(ctx, &tool.Call{Op: tool.OpResource, Name: uri, Args: args, Principal: o.principal})
}

// granted returns the resources of a listen request that the caller may hear of,
// and holds their subscriptions until release is called. A client is told which
// they are (MCP 2026-07-28, basic/utilities, subscriptions/listen).
func (f *Face) granted(ctx context.Context, o *origin, uris []string) (granted []string, release func(), _ *jsonrpc.Error) {
	if len(uris) > maxSubscriptions {
		return nil, nil, invalidParams("more than %d resource subscriptions", maxSubscriptions)
	}
	var held []func()
	for _, uri := range uris {
		if len(uri) > maxURI || slices.Contains(granted, uri) || f.maySubscribe(ctx, o, uri) != nil {
			continue
		}
		granted, held = append(granted, uri), append(held, f.config.Registry.Subscribe(uri))
	}
	return granted, func() {
		for _, release := range held {
			release()
		}
	}, nil
}

// subscribe answers a resources/subscribe, of before 2026-07-28: a subscription
// belongs to a session, and stateless HTTP has none.
func (f *Face) subscribe(ctx context.Context, o *origin, req *mcpsdk.SubscribeRequest, next mcpsdk.MethodHandler) (mcpsdk.Result, error) {
	uri := req.Params.URI
	switch {
	case !o.stdio:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no subscriptions without a session; listen with protocol 2026-07-28"}
	case len(uri) > maxURI:
		return nil, invalidParams("the URI has more than %d bytes", maxURI)
	}
	if err := f.maySubscribe(ctx, o, uri); err != nil {
		return nil, refusal(tool.OpResource, err)
	}
	if !o.hold(uri, f.config.Registry) {
		return nil, invalidParams("more than %d resource subscriptions", maxSubscriptions)
	}
	return next(ctx, methodSubscribe, req)
}

// hold keeps a subscription, and reports whether there was room for it.
func (o *origin) hold(uri string, r Registry) bool {
	s := &o.subscribed
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, twice := s.held[uri]; {
	case twice:
		return true
	case s.held == nil || len(s.held) >= maxSubscriptions:
		return false
	}
	s.held[uri] = r.Subscribe(uri)
	return true
}

// unsubscribe answers a resources/unsubscribe.
func (f *Face) unsubscribe(ctx context.Context, o *origin, req *mcpsdk.UnsubscribeRequest, next mcpsdk.MethodHandler) (mcpsdk.Result, error) {
	s := &o.subscribed
	s.mu.Lock()
	if release := s.held[req.Params.URI]; release != nil {
		release()
		delete(s.held, req.Params.URI)
	}
	s.mu.Unlock()
	return next(ctx, methodUnsubscribe, req)
}
