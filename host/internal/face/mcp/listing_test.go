// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestToolsAsClientsSeeThem(t *testing.T) {
	object := json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer","maximum":9007199254740993,"default":1.10}}}`)
	for name, s := range map[string]tool.Spec{
		"plain":           {Name: "a", Description: "does <a> & b", Effects: tool.Additive},
		"read_only":       {Name: "a", Effects: tool.ReadOnly, Idempotent: true},
		"additive":        {Name: "a", Effects: tool.Additive, OpenWorld: new(true)},
		"destructive":     {Name: "a", Effects: tool.Destructive, Confirm: new(false), OpenWorld: new(false)},
		"unset":           {Name: "a"},
		"unset_confirm":   {Name: "a", Confirm: new(true)},
		"unset_unguarded": {Name: "a", Confirm: new(false)},
		"no_type":         {Name: "a", Input: json.RawMessage(` { "properties": {"Type": {}} } `)},
		"empty_schema":    {Name: "a", Input: json.RawMessage(`{}`)},
		"inlined": {
			Name:  "a",
			Input: json.RawMessage(`{"$defs":{"p":{"type":"string","title":"P"}},"type":"object","title":"T","properties":{"p":{"$ref":"#/$defs/p"}}}`),
		},
		"output_object": {Name: "a", Output: object},
		"output_array":  {Name: "a", Output: json.RawMessage(`{"$defs":{"row":{"type":"object"}},"type":"array","items":{"$ref":"#/$defs/row"}}`)},
		"everything": {
			Name: "a", Title: "A", Adapter: "x", Declared: "aa", Effects: tool.ReadOnly, Tags: []string{"t"},
			Icons: []tool.Icon{{Src: "https://x/i.png", MIMEType: "image/png", Sizes: []string{"48x48"}, Theme: "dark"}},
			Meta: json.RawMessage(`{"com.example/k":{"n":1.10},"io.modelcontextprotocol/serverInfo":1,"modelcontextprotocol.io/x":2,` +
				`"mcp.dev/y":3,"toolwharf/error_kind":"denied","progressToken":4,"plain":true}`),
		},
		"header": {Name: "a", Input: json.RawMessage(`{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			if s.Input == nil {
				s.Input = object
			}
			l, err := toolListing(&s)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "tool/"+name+".golden.json", l.json)
		})
	}
}

func TestAToolThatClientsCannotReadIsNotShown(t *testing.T) {
	for name, tt := range map[string]struct{ input, meta, says string }{
		"a root that is no object":        {`{"type":"array"}`, "", "not object"},
		"a root of several types":         {`{"type":["object","null"]}`, "", "not object"},
		"a schema that is no JSON object": {`true`, "", "input schema"},
		"no schema":                       {``, "", "input schema"},
		"null":                            {`null`, "", "not a JSON object"},
		"a header of an unfit type":       {`{"type":"object","properties":{"r":{"type":"number","x-mcp-header":"R"}}}`, "", "refused by the MCP SDK"},
		"a header that is no header":      {`{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"a b"}}}`, "", "refused by the MCP SDK"},
		"_meta that is no object":         {`{"type":"object"}`, `7`, "_meta"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tool.Spec{Name: "bad", Input: json.RawMessage(tt.input), Meta: json.RawMessage(tt.meta)}
			if _, err := toolListing(&s); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v", err)
			}
			h := newHost(t, Config{}, spec("good"), s).serve()
			a := h.answer(versionModern, body(versionModern, methodListTools, "", ""))
			if len(a.Tools) != 1 || a.Tools[0].Name != "good" {
				t.Errorf("listed %+v", a.Tools)
			}
		})
	}
}

func TestReservedMetaKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"io.modelcontextprotocol/x":      true,
		"modelcontextprotocol.io/x":      true,
		"org.modelcontextprotocol.api/x": true,
		"mcp.dev/x":                      true,
		"tools.mcp.com/x":                true,
		"com.mcp/x":                      true,
		"MCP.dev/x":                      true,
		"mcp/x":                          true,
		"a.b.mcp.c/x":                    true,
		"progressToken":                  true,
		"com.example.mcp/x":              false,
		"com.example/mcp":                false,
		"mcp":                            false,
		"mcpx.dev/x":                     false,
		"traceparent":                    false,
		"":                               false,
	} {
		if got := reservedKey(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}
