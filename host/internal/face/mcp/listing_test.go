// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/registry"
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

func TestResourcesTemplatesAndPromptsAsClientsSeeThem(t *testing.T) {
	meta := json.RawMessage(`{"com.example/k":{"n":1.10},"io.modelcontextprotocol/serverInfo":1,"toolwharf/ran":"no"}`)
	icons := []tool.Icon{{Src: "https://x/i.png"}}
	priority := 0.5
	hints := &tool.Annotations{Audience: []string{"user"}, Priority: &priority, LastModified: "2026-01-02T03:04:05Z"}
	for name, k := range map[string]struct {
		kind  kind
		offer registry.Offer
	}{
		"resource_plain": {resources, registry.Offer{Resource: &tool.Resource{URI: "note://1", Name: "one"}}},
		"resource_everything": {resources, registry.Offer{Resource: &tool.Resource{
			URI: "note://<1>", Name: "one", Title: "One", Description: "the <first>", MIMEType: "text/plain", Size: new(int64(0)),
			Annotations: hints, Icons: icons, Meta: meta,
		}}},
		"template_plain": {templates, registry.Offer{Resource: &tool.Resource{URI: "note://{id}", Name: "each"}}},
		"template_everything": {templates, registry.Offer{Resource: &tool.Resource{
			URI: "note://{id}", Name: "each", Title: "Each", Description: "any", MIMEType: "text/plain", Annotations: hints, Icons: icons, Meta: meta,
		}}},
		"prompt_plain": {prompts, registry.Offer{Prompt: &tool.Prompt{Name: "sum"}}},
		"prompt_everything": {prompts, registry.Offer{Prompt: &tool.Prompt{
			Name: "sum", Title: "Sum", Description: "sums <up>", Icons: icons, Meta: meta,
			Arguments: []tool.PromptArgument{{Name: "of", Title: "Of", Description: "what", Required: true}, {Name: "as"}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := listingOf(k.kind, &k.offer)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "listing/"+name+".golden.json", l.json)
		})
	}
}

func TestReadsPromptsAndCompletionsAsClientsSeeThem(t *testing.T) {
	meta := json.RawMessage(`{"n":1.10,"progressToken":1,"toolwharf/x":1}`)
	contents := []tool.Content{
		&tool.Embedded{URI: "note://1", MIMEType: "text/plain", Text: "<&>", ContentMeta: meta},
		&tool.Embedded{URI: "note://2", Blob: []byte{0, 255}},
		&tool.Embedded{URI: "note://3"},
	}
	for name, k := range map[string]struct {
		op  tool.Op
		out tool.Result
	}{
		"contents":         {tool.OpResource, tool.Result{Content: contents, Meta: meta}},
		"contents_nothing": {tool.OpResource, tool.Result{}},
		"prompt": {tool.OpPrompt, tool.Result{
			Description: "sums <up>", Roles: []string{"user", "assistant", "user", "assistant", "user"}, Meta: meta,
			Content: []tool.Content{
				&tool.Text{Text: "a"}, &tool.Blob{Kind: "image", MIMEType: "image/png", Data: []byte{1}},
				&tool.Blob{Kind: "audio", MIMEType: "audio/wav", Data: []byte{2}}, &tool.Link{URI: "note://1", Name: "one"}, contents[0],
			},
		}},
		"completion":      {tool.OpCompletion, tool.Result{Completion: &tool.Completion{Values: []string{"<a>", "b"}, Total: new(int32(7)), More: true}}},
		"completion_none": {tool.OpCompletion, tool.Result{Completion: &tool.Completion{}}},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := readOf(k.op, &k.out)
			if err != nil {
				t.Fatal(err)
			}
			for era, file := range map[string]string{versionModern: name, legacy: name + "_legacy"} {
				given := *res
				given.complete(era, json.RawMessage(`{"name":"toolwharf"}`))
				raw, err := marshal(&given)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, "read/"+file+".golden.json", raw)
			}
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
