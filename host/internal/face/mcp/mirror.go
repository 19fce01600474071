// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mirror keeps the SDK server's tool map like the registry. The SDK tells
// clients that the list has changed when its map changes: once for changes that
// come within 10 ms of each other.
type mirror struct {
	server *mcpsdk.Server
	shelf  *shelf
	log    *slog.Logger
	shown  map[string]*listing
}

// follow keeps up with the registry until ctx ends.
func (m *mirror) follow(ctx context.Context) {
	for range m.shelf.registry.Changes(ctx) {
		m.update()
	}
}

// update makes the map like the catalogue of now. A tool is touched only if
// clients would see a difference, its description for example.
func (m *mirror) update() {
	shown := map[string]*listing{}
	for _, l := range m.shelf.now().tools {
		shown[l.name] = l
		if was := m.shown[l.name]; was == nil || !bytes.Equal(was.json, l.json) {
			m.add(l)
		}
	}
	var gone []string
	for name := range m.shown {
		if shown[name] == nil {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		m.server.RemoveTools(gone...)
	}
	m.shown = shown
}

// add mirrors a tool: with its schema where the SDK has to hold headers against
// it, which a listing has been probed for.
func (m *mirror) add(l *listing) {
	input := json.RawMessage(`{"type":"object"}`)
	if l.headers {
		input = l.input
	}
	if err := addTool(m.server, &mcpsdk.Tool{Name: l.name, InputSchema: input}); err != nil {
		m.log.Error("tool not mirrored", "tool", l.name, "error", err)
	}
}
