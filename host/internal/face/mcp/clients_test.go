// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"slices"
	"testing"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestOfficialClientListsAndCallsInBothErasOverBothTransports(t *testing.T) {
	for _, transport := range []string{"http", "stdio"} {
		for _, era := range eras {
			t.Run(transport+"/"+era, func(t *testing.T) {
				h := newHost(t, Config{Instructions: "be kind"}, spec("b"), spec("a"), spec("echo")).serve()
				s := h.connect(era, transport, nil)
				if got := s.InitializeResult(); got.ProtocolVersion != era || got.Instructions != "be kind" || got.ServerInfo.Name != "toolwharf" {
					t.Errorf("the server says of itself %+v", got)
				}
				tools, err := s.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, tool := range tools.Tools {
					names = append(names, tool.Name)
				}
				if !slices.Equal(names, []string{"a", "b", "echo"}) {
					t.Errorf("listed %v", names)
				}
				h.face.Instruct("be brief")
				if got := h.connect(era, transport, nil).InitializeResult().Instructions; got != "be brief" {
					t.Errorf("the next client is instructed %q", got)
				}
				res, err := s.CallTool(t.Context(), &mcpsdk.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"n":1}`)})
				if err != nil {
					t.Fatal(err)
				}
				if text, ok := res.Content[0].(*mcpsdk.TextContent); !ok || text.Text != `{"n":1}` || len(res.Content) != 1 || res.IsError {
					t.Errorf("result %+v", res)
				}
				c := h.last()
				if c.Op != tool.OpTool || c.Name != "echo" || c.Client.Protocol != era {
					t.Errorf("call %+v", c)
				}
				if modern(era) || transport == "stdio" { // an older stateless request says nothing of its client
					if c.Client.Name != "sdk" || c.Client.Version != "1" || !json.Valid(c.Client.Capabilities) {
						t.Errorf("client %+v", c.Client)
					}
				}
				want := tool.Anonymous
				if transport == "stdio" {
					want = tool.Stdio
				}
				if c.Principal.Kind != want || (want == tool.Stdio) != (c.Principal.Subject != "") {
					t.Errorf("principal %+v", c.Principal)
				}
			})
		}
	}
}
