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

// What is asked of the shop: something that it may tell, and something that it
// may not.
const (
	queryTool = "shop_query"
	sales     = "SELECT p.name, SUM(l.quantity) AS sold, SUM(l.quantity * l.price) AS cents " +
		"FROM order_lines l JOIN products p ON p.id = l.product_id GROUP BY p.id ORDER BY cents DESC LIMIT 3"
	refused = "SELECT name, secret FROM staff_secrets"
)

// tour is what an agent would do first: see which tools there are, use one, and
// try what it may not.
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
		fmt.Fprintf(out, "  %-18s %s\n", tool.Name, tool.Title)
	}
	failed, err := call(ctx, out, session, queryTool, map[string]any{"sql": sales})
	if err == nil && failed {
		err = errors.New("the query failed")
	}
	if err != nil {
		return err
	}
	failed, err = call(ctx, out, session, queryTool, map[string]any{"sql": refused})
	if err == nil && !failed {
		err = errors.New("a table that is not allowed was read")
	}
	return err
}

// call calls a tool, prints what it was asked and what it said, and reports
// whether the tool said that it failed.
func call(ctx context.Context, out io.Writer, session *mcp.ClientSession, tool string, arguments map[string]any) (failed bool, err error) {
	asked, err := json.Marshal(arguments)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "\ntools/call %s %s\n\n", tool, asked)
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return false, fmt.Errorf("tools/call %s: %w", tool, err)
	}
	for _, content := range res.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			fmt.Fprintf(out, "  %s\n", pretty(text.Text))
		}
	}
	return res.IsError, nil
}

// pretty lays JSON out; other text is left as it is.
func pretty(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "  ", "  ") != nil {
		return text
	}
	return b.String()
}
