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

// mirror keeps the SDK server's maps like the registry. The SDK tells clients that
// a list has changed when its map changes: once for changes that come within
// 10 ms of each other.
type mirror struct {
	server *mcpsdk.Server
	shelf  *shelf
	log    *slog.Logger
	mu     sync.Mutex
	shown  [kinds]map[string]*listing
}

// passing is in the maps for no time at all. Nothing that is offered has its name.
var passing = &listing{name: "toolwharf:passing"}

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

// update makes the maps like the catalogue of now. An item is touched only if
// clients would see a difference, its description for example.
func (m *mirror) update() {
	m.mu.Lock()
	defer m.mu.Unlock()
	catalogue := m.shelf.now()
	for k := range kinds {
		shown := map[string]*listing{}
		for _, l := range catalogue.lists[k] {
			shown[l.name] = l
			if was := m.shown[k][l.name]; was == nil || !bytes.Equal(was.json, l.json) {
				m.add(k, l)
			}
		}
		var gone []string
		for name := range m.shown[k] {
			if shown[name] == nil {
				gone = append(gone, name)
			}
		}
		if len(gone) > 0 {
			m.remove(k, gone)
		}
		m.shown[k] = shown
		// What is visible may have changed where nothing else has. The SDK
		// only knows that something came and went, and f.notify who sees that.
		m.add(k, passing)
		m.remove(k, []string{passing.name})
	}
}

// add mirrors an item: a tool with its schema where the SDK has to hold headers
// against it, which a listing has been probed for.
func (m *mirror) add(k kind, l *listing) {
	defer func() {
		if p := recover(); p != nil {
			m.log.Error("not mirrored, so no notice of its change", "name", l.name, "error", p)
		}
	}()
	switch k {
	case tools:
		input := json.RawMessage(`{"type":"object"}`)
		if l.headers {
			input = l.input
		}
		if err := addTool(m.server, &mcpsdk.Tool{Name: l.name, InputSchema: input}); err != nil {
			m.log.Error("tool not mirrored", "tool", l.name, "error", err)
		}
	case resources:
		m.server.AddResource(&mcpsdk.Resource{URI: l.name, Name: l.name}, nil)
	case templates:
		m.server.AddResourceTemplate(&mcpsdk.ResourceTemplate{URITemplate: l.name, Name: l.name}, nil)
	case prompts:
		m.server.AddPrompt(&mcpsdk.Prompt{Name: l.name}, nil)
	case kinds:
	}
}

func (m *mirror) remove(k kind, names []string) {
	switch k {
	case tools:
		m.server.RemoveTools(names...)
	case resources:
		m.server.RemoveResources(names...)
	case templates:
		m.server.RemoveResourceTemplates(names...)
	case prompts:
		m.server.RemovePrompts(names...)
	case kinds:
	}
}
