// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mirror makes the SDK's server tell clients that a list has changed, which it does
// when its own map changes: once for changes that come within 10 ms of each other.
// It also keeps in that map the tools whose arguments stand in headers too: against
// those the SDK holds the headers. Nothing else is kept there: the SDK allocates
// 64 KiB for each tool.
type mirror struct {
	server *mcpsdk.Server
	shelf  *shelf
	log    *slog.Logger
	mu     sync.Mutex
	held   map[string]*listing // by name, with their schemas
}

// passing is in the maps for no time at all. Nothing that is offered has its name:
// public names of tools and prompts have no dot, and URIs begin with a scheme.
const passing = "toolwharf.passing"

// follow keeps up with the registry until ctx ends.
func (m *mirror) follow(ctx context.Context) {
	for range m.shelf.registry.Changes(ctx) {
		m.update()
	}
}

// check lets clients look again whenever the policy may be another, until ctx ends.
func (m *mirror) check(ctx context.Context, again <-chan struct{}) {
	for {
		select {
		case <-again:
			m.update()
		case <-ctx.Done():
			return
		}
	}
}

// update holds what is to be held by the catalogue of now, and lets clients be
// told, whatever has changed: what is visible may have where nothing else has. The
// SDK only knows that something came and went, and f.notify who sees that.
func (m *mirror) update() {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := map[string]*listing{}
	for _, l := range m.shelf.now().lists[tools] {
		if !l.headers {
			continue
		}
		held[l.name] = l
		if was := m.held[l.name]; was != nil && bytes.Equal(was.input, l.input) {
			continue
		}
		if err := addTool(m.server, &mcpsdk.Tool{Name: l.name, InputSchema: l.input}); err != nil { // it was probed
			m.log.Error("headers are not held against the tool", "tool", l.name, "error", err)
		}
	}
	for name := range m.held {
		if held[name] == nil {
			m.server.RemoveTools(name)
		}
	}
	m.held = held
	m.pass()
}

// pass changes every map, and leaves it as it was.
func (m *mirror) pass() {
	if err := addTool(m.server, &mcpsdk.Tool{Name: passing, InputSchema: json.RawMessage(`{"type":"object"}`)}); err != nil {
		m.log.Error("no notices of what changes", "error", err)
	}
	m.server.RemoveTools(passing)
	m.server.AddResource(&mcpsdk.Resource{URI: passing, Name: passing}, nil)
	m.server.RemoveResources(passing)
	m.server.AddPrompt(&mcpsdk.Prompt{Name: passing}, nil)
	m.server.RemovePrompts(passing)
}
