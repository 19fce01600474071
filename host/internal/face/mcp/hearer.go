// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"slices"
	"sync"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// hearers are the sessions that hear of changes. The SDK tells all of them of
// every change in its map, which has everybody's tools: one whose own list is as
// it was is not told, or it would learn that something changes behind its back.
type hearers struct {
	mu sync.Mutex
	of map[mcpsdk.Session]*hearer
}

// hearer is one of them.
type hearer struct {
	principal tool.Principal
	mu        sync.Mutex
	// last is each list as it was when it was last told of a change of it.
	last view
}

// enter says who is at the other end of a session; leave must follow.
func (h *hearers) enter(s mcpsdk.Session, p tool.Principal, now *view) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[mcpsdk.Session]*hearer{}
	}
	h.of[s] = &hearer{principal: p, last: *now}
}

func (h *hearers) leave(s mcpsdk.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, s)
}

func (h *hearers) find(s mcpsdk.Session) *hearer {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[s]
}

// hears reports whether a list of some kinds is not the one that was there before.
func (h *hearer) hears(now *view, of []kind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := false
	for _, k := range of {
		same := slices.EqualFunc(h.last[k], now[k], func(a, b *listing) bool { return a == b || bytes.Equal(a.json, b.json) })
		changed = changed || !same
		h.last[k] = now[k]
	}
	return changed
}

// notices are what clients are told when something comes or goes, and in which
// lists.
var notices = map[string][]kind{
	"notifications/tools/list_changed":     {tools},
	"notifications/resources/list_changed": {resources, templates},
	"notifications/prompts/list_changed":   {prompts},
}

// notify is the middleware of what the SDK sends.
func (f *Face) notify(next mcpsdk.MethodHandler) mcpsdk.MethodHandler {
	return func(ctx context.Context, method string, req mcpsdk.Request) (mcpsdk.Result, error) {
		if of, ok := notices[method]; ok {
			h := f.hearers.find(req.GetSession())
			if h == nil || !h.hears(f.listed.now().seenBy(h.principal), of) {
				return nil, nil
			}
		}
		if p, ok := req.GetParams().(*mcpsdk.ResourceUpdatedNotificationParams); ok && !f.stillSees(req.GetSession(), p.URI) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

// stillSees reports whether who is at the other end of a session may still know of
// a resource that it has subscribed to: the policy may be another by now.
func (f *Face) stillSees(s mcpsdk.Session, uri string) bool {
	h := f.hearers.find(s)
	if h == nil {
		return false
	}
	o, ok := f.config.Registry.Snapshot().Find(tool.ResourceName(uri))
	return ok && f.config.Policy().Sees(h.principal, &o.Spec)
}
