// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPage bounds a page of tools/list in bytes: clients bound what they read.
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

// listResult is a ListToolsResult whose tools are encoded already. TTL and what
// else 2026-07-28 added are left out for older clients.
type listResult struct {
	mcpsdk.ResultBase

	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor,omitempty"`
	TTL        *int              `json:"ttlMs,omitempty"`
	CacheScope string            `json:"cacheScope,omitempty"`
	ResultType string            `json:"resultType,omitempty"`
}

// list answers tools/list from the registry, sorted by name.
func (f *Face) list(req *mcpsdk.ListToolsRequest) (*listResult, *jsonrpc.Error) {
	catalogue := f.listed.now()
	tools := catalogue.tools
	if req.Params != nil && req.Params.Cursor != "" {
		name, ok := decodeCursor(req.Params.Cursor)
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid cursor"}
		}
		tools = catalogue.after(name)
	}
	page, bytes := 0, 0
	for page < len(tools) && page < f.config.PageSize && (page == 0 || bytes+len(tools[page].json) <= maxPage) {
		bytes += len(tools[page].json)
		page++
	}
	r := &listResult{Tools: make([]json.RawMessage, page)}
	for i, l := range tools[:page] {
		r.Tools[i] = l.json
	}
	if page < len(tools) {
		r.NextCursor = encodeCursor(tools[page-1].name)
	}
	if modern(req.ProtocolVersion()) {
		r.TTL, r.CacheScope, r.ResultType = new(listTTL), scope, resultComplete
	}
	return r, nil
}
