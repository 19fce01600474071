// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPage bounds a page of a list in bytes: clients bound what they read.
const maxPage = 4 << 20

// How long clients may keep answers (MCP 2026-07-28, server/utilities/caching).
// A list changes at any moment, and a client without a listen stream has no
// other way to see it; what the host says of itself changes with the process.
const (
	listTTL     = 0
	discoverTTL = time.Minute
	// scope: what one principal sees is not for another.
	scope = "private"
)

func cacheable(_ context.Context, _ mcpsdk.Request, c *mcpsdk.Cacheable) {
	c.TTLMs, c.CacheScope = int(discoverTTL.Milliseconds()), scope
}

// listResult is the result of a list whose items are encoded already. TTL and
// what else 2026-07-28 added are left out for older clients.
type listResult struct {
	tail

	kind   kind
	items  []*listing
	cursor string // of the next page
}

// MarshalJSON writes the result.
func (r *listResult) MarshalJSON() ([]byte, error) {
	size := 256
	for _, l := range r.items {
		size += len(l.json) + 1
	}
	b := make([]byte, 0, size)
	b = append(b, `{"`+r.kind.key()+`":[`...)
	for i, l := range r.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, l.json...)
	}
	b = appendMember(append(b, ']'), "nextCursor", r.cursor)
	if r.resultType != "" {
		b = fmt.Appendf(b, `,"ttlMs":%d,"cacheScope":"%s"`, listTTL, scope)
	}
	return r.append(b)
}

// listRequest is which list, from where on, and in which version.
type listRequest struct {
	kind            kind
	cursor, version string
}

// listAsked reads a request for a list. There may be no params.
func listAsked(req mcpsdk.Request) (l listRequest, ok bool) {
	switch r := req.(type) {
	case *mcpsdk.ListToolsRequest:
		l.kind, l.version = tools, r.ProtocolVersion()
		if r.Params != nil {
			l.cursor = r.Params.Cursor
		}
	case *mcpsdk.ListResourcesRequest:
		l.kind, l.version = resources, r.ProtocolVersion()
		if r.Params != nil {
			l.cursor = r.Params.Cursor
		}
	case *mcpsdk.ListResourceTemplatesRequest:
		l.kind, l.version = templates, r.ProtocolVersion()
		if r.Params != nil {
			l.cursor = r.Params.Cursor
		}
	case *mcpsdk.ListPromptsRequest:
		l.kind, l.version = prompts, r.ProtocolVersion()
		if r.Params != nil {
			l.cursor = r.Params.Cursor
		}
	default:
		return l, false
	}
	return l, true
}

// list answers a list from the registry, sorted by name: what the caller may know
// of.
func (f *Face) list(o *origin, l listRequest) (*listResult, *jsonrpc.Error) {
	k := l.kind
	items := f.listed.now().seenBy(o.principal)[k]
	if l.cursor != "" {
		name, ok := decodeCursor(k, l.cursor)
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid cursor"}
		}
		items = after(items, name)
	}
	page, bytes := 0, 0
	for page < len(items) && page < f.config.PageSize && (page == 0 || bytes+len(items[page].json) <= maxPage) {
		bytes += len(items[page].json)
		page++
	}
	r := &listResult{kind: k, items: items[:page]}
	r.complete(l.version, f.info)
	if page < len(items) {
		r.cursor = encodeCursor(k, items[page-1].name)
	}
	return r, nil
}
