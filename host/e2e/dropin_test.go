// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect connects the official Go client over HTTP. protocol "" is the newest.
func (h *host) connect(protocol string, changed func()) *mcp.ClientSession {
	h.t.Helper()
	options := &mcp.ClientOptions{}
	if changed != nil {
		options.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { changed() }
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, options)
	session, err := client.Connect(h.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: h.url},
		&mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		h.t.Fatalf("connect: %v", err)
	}
	h.t.Cleanup(func() { _ = session.Close() })
	return session
}

func names(ctx context.Context, s *mcp.ClientSession) ([]string, error) {
	var out []string
	for t, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		out = append(out, t.Name)
	}
	return out, nil
}

// lists waits until the client sees, or does not see, a tool.
func lists(t *testing.T, s *mcp.ClientSession, tool string, want bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s listed: %v", tool, want), func() error {
		got, err := names(t.Context(), s)
		if err != nil {
			return err
		}
		if slices.Contains(got, tool) != want {
			return fmt.Errorf("tools are %v", got)
		}
		return nil
	})
}

func TestAPluginThatIsDroppedInIsServedAndGoesWhenItIsRemoved(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	h := serve(t, dir)
	told := make(chan struct{}, 16)
	session := h.connect("", func() { told <- struct{}{} })
	lists(t, session, "hello_greet", false)

	file := install(t, "hello", plugins)
	lists(t, session, "hello_greet", true)
	heard(t, told, "that the tools came")
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello_greet", Arguments: map[string]any{"name": "Ada"}})
	if err != nil || r.IsError {
		t.Fatalf("call: %v, %+v", err, r)
	}

	pid := h.adapters()["hello"].PID
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	lists(t, session, "hello_greet", false)
	heard(t, told, "that the tools went")
	eventually(t, "its process is gone", func() error { return gone(pid) })
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello_greet"}); err == nil {
		t.Error("a tool that is gone can be called")
	}
}

// heard waits for a notice, and takes those that came with it.
func heard(t *testing.T, told chan struct{}, what string) {
	t.Helper()
	eventually(t, "a listening client is told "+what, func() error {
		select {
		case <-told:
			return nil
		default:
			return fmt.Errorf("no notice yet")
		}
	})
	for len(told) > 0 {
		<-told
	}
}
