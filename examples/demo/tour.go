// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tour is what an agent would do first: see which tools there are, and use one.
func tour(ctx context.Context, out io.Writer) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "toolwharf-demo", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint}, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()

	fmt.Fprintf(out, "tools/list at %s\n\n", endpoint)
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("tools/list: %w", err)
		}
		fmt.Fprintf(out, "  %-20s %s\n", tool.Name, tool.Title)
	}
	return call(ctx, out, session, queryTool, map[string]any{"sql": query})
}

// call calls a tool and prints what it was asked and what it said.
func call(ctx context.Context, out io.Writer, session *mcp.ClientSession, tool string, arguments map[string]any) error {
	asked, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\ntools/call %s %s\n\n", tool, asked)
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return fmt.Errorf("tools/call %s: %w", tool, err)
	}
	for _, content := range res.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			fmt.Fprintf(out, "  %s\n", pretty(text.Text))
		}
	}
	if res.IsError {
		return fmt.Errorf("%s says that it failed", tool)
	}
	return nil
}

// pretty lays JSON out; other text is left as it is.
func pretty(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "  ", "  ") != nil {
		return text
	}
	return b.String()
}
