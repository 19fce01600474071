// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// listedResource is an MCP Resource or ResourceTemplate (2026-07-28,
// server/resources).
type listedResource struct {
	URI         string                     `json:"uri,omitempty"`
	URITemplate string                     `json:"uriTemplate,omitempty"`
	Name        string                     `json:"name"`
	Title       string                     `json:"title,omitempty"`
	Description string                     `json:"description,omitempty"`
	MIMEType    string                     `json:"mimeType,omitempty"`
	Size        *int64                     `json:"size,omitempty"`
	Annotations *tool.Annotations          `json:"annotations,omitempty"`
	Icons       []tool.Icon                `json:"icons,omitempty"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty"`
}

func resourceListing(k kind, r *tool.Resource) (*listing, error) {
	meta, err := foreignMeta(r.Meta)
	if err != nil {
		return nil, err
	}
	item := listedResource{
		URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType,
		Size: r.Size, Annotations: r.Annotations, Icons: r.Icons, Meta: meta,
	}
	if k == templates {
		item.URI, item.URITemplate = "", r.URI
	}
	raw, err := marshal(item)
	return &listing{name: r.URI, json: raw}, err
}

// listedPrompt is an MCP Prompt (2026-07-28, server/prompts).
type listedPrompt struct {
	Name        string                     `json:"name"`
	Title       string                     `json:"title,omitempty"`
	Description string                     `json:"description,omitempty"`
	Arguments   []tool.PromptArgument      `json:"arguments,omitempty"`
	Icons       []tool.Icon                `json:"icons,omitempty"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty"`
}

func promptListing(p *tool.Prompt) (*listing, error) {
	meta, err := foreignMeta(p.Meta)
	if err != nil {
		return nil, err
	}
	raw, err := marshal(listedPrompt{
		Name: p.Name, Title: p.Title, Description: p.Description, Arguments: p.Arguments, Icons: p.Icons, Meta: meta,
	})
	return &listing{name: p.Name, json: raw}, err
}
