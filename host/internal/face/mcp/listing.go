// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// listing is one tool, resource, template or prompt as clients see it.
type listing struct {
	name string
	// json is what stands in the list.
	json json.RawMessage
	// input is a tool's inputSchema.
	input json.RawMessage
	// wrapped says that the output schema is {"result": ...} around what the
	// adapter declared, and structured content has to be likewise.
	wrapped bool
	// headers says that some argument also stands in a header.
	headers bool
}

// paramHeader is the annotation of an argument that also stands in a header
// (MCP 2026-07-28, basic/transports, Custom Headers).
const paramHeader = "x-mcp-header"

// listedTool is an MCP Tool (2026-07-28, server/tools). It is ours because the
// SDK's cannot leave readOnlyHint and idempotentHint unsaid.
type listedTool struct {
	Name         string                     `json:"name"`
	Title        string                     `json:"title,omitempty"`
	Description  string                     `json:"description,omitempty"`
	InputSchema  json.RawMessage            `json:"inputSchema"`
	OutputSchema json.RawMessage            `json:"outputSchema,omitempty"`
	Annotations  *hints                     `json:"annotations,omitempty"`
	Icons        []tool.Icon                `json:"icons,omitempty"`
	Meta         map[string]json.RawMessage `json:"_meta,omitempty"`
}

// hints is an MCP ToolAnnotations; nil is unsaid.
type hints struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// listingOf returns an offer as clients see it. An error means that it cannot be
// shown to them: one item that a client cannot read costs it the whole list.
func listingOf(k kind, o *registry.Offer) (*listing, error) {
	switch k {
	case resources, templates:
		return resourceListing(k, o.Resource)
	case prompts:
		return promptListing(o.Prompt)
	case tools, kinds:
	}
	return toolListing(&o.Spec)
}

func toolListing(s *tool.Spec) (*listing, error) {
	input, err := objectSchema(schema.Inline(s.Input))
	if err != nil {
		return nil, err
	}
	l := &listing{name: s.Name, input: input, headers: bytes.Contains(input, []byte(paramHeader))}
	if l.headers {
		if err := probe(input); err != nil {
			return nil, err
		}
	}
	t := listedTool{
		Name: s.Name, Title: s.Title, Description: s.Description,
		InputSchema: input, Annotations: hintsOf(s), Icons: s.Icons,
	}
	if len(s.Output) > 0 {
		t.OutputSchema, l.wrapped = schema.Wrap(schema.Inline(s.Output))
	}
	if t.Meta, err = foreignMeta(s.Meta); err != nil {
		return nil, err
	}
	if l.json, err = marshal(t); err != nil {
		return nil, err
	}
	return l, nil
}

// hintsOf says what policy knows of a tool. Effects unset count as destructive
// unless the tool says that it need not be confirmed.
func hintsOf(s *tool.Spec) *hints {
	h := hints{OpenWorld: s.OpenWorld}
	switch s.Effects {
	case tool.ReadOnly:
		h.ReadOnly, h.Destructive = new(true), new(false)
	case tool.Additive:
		h.ReadOnly, h.Destructive = new(false), new(false)
	case tool.Destructive:
		h.ReadOnly, h.Destructive = new(false), new(true)
	case tool.EffectsUnset:
		if s.Confirm == nil || *s.Confirm {
			h.Destructive = new(true)
		}
	}
	if s.Idempotent {
		h.Idempotent = new(true)
	}
	if h == (hints{}) {
		return nil
	}
	return &h
}

// objectSchema returns a schema whose root says that it is an object, which an
// inputSchema must (MCP 2026-07-28, server/tools, Tool); a root without a type
// is given one, since arguments are an object anyway.
func objectSchema(raw json.RawMessage) (json.RawMessage, error) {
	var root map[string]json.RawMessage // not a struct: its fields would match in any case
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	switch kind := root["type"]; {
	case root == nil:
		return nil, errors.New("input schema: not a JSON object")
	case len(root) == 0:
		raw = json.RawMessage(`{"type":"object"}`)
	case kind == nil:
		raw = append([]byte(`{"type":"object",`), bytes.TrimSpace(raw)[1:]...)
	case string(kind) != `"object"`:
		return nil, fmt.Errorf("input schema: the root's type is %s, not object", kind)
	}
	return raw, nil
}

// probe asks the SDK about a schema with annotations for headers: they have
// rules of their own, and clients must drop a tool that breaks them.
func probe(input json.RawMessage) error {
	s := mcpsdk.NewServer(&mcpsdk.Implementation{Name: "probe"}, nil)
	return addTool(s, &mcpsdk.Tool{Name: "probe", InputSchema: input})
}

// addTool adds a tool without panicking, which is how the SDK refuses one. Its
// handler is never reached: calls are answered before.
func addTool(s *mcpsdk.Server, t *mcpsdk.Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("refused by the MCP SDK: %v", p)
		}
	}()
	s.AddTool(t, nil)
	return nil
}

// marshal is json.Marshal without escapes for HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
