// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestASecretIsTakenOutOfAnswersErrorsAndTheLedger(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2-hunter2-hunter2"
	dir, plugins := workspace(t, "adapters: {echo: {plugin: echo, env: {TOKEN: \"${E2E_SECRET}\"}}}\n")
	install(t, "echo", plugins)
	h := serveWith(t, dir, toolwharf, "E2E_SECRET="+hidden)
	s := h.connect("", nil)
	lists(t, s, "echo_echo", true)
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_echo", Arguments: map[string]any{"text": "it is " + hidden + "."}})
	if err != nil || r.IsError || textOf(r) != "it is [redacted]." {
		t.Errorf("answer: %v %q", err, textOf(r))
	}
	r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_fail", Arguments: map[string]any{
		"kind": "tool_error", "code": "x", "text": "said " + hidden, "detail": "detail " + hidden,
	}})
	if err != nil || !r.IsError || strings.Contains(textOf(r), hidden) || !strings.Contains(textOf(r), "[redacted]") {
		t.Errorf("error: %v %q", err, textOf(r))
	}
	eventually(t, "the ledger has the error, without the secret", func() error {
		stdout, _, _ := run(t, dir, "ledger", "tail", "--json", "--tool", "echo_fail")
		if !strings.Contains(stdout, "[redacted]") {
			return fmt.Errorf("it says %s", stdout)
		}
		return nil
	})
	h.stop()
	for _, file := range []string{"toolwharf.db", "toolwharf.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(dir, ".toolwharf", file))
		if err == nil && strings.Contains(string(raw), hidden) {
			t.Errorf("%s holds the secret", file)
		}
	}
}

func TestASecretIsTakenOutHoweverAnAnswerCame(t *testing.T) {
	t.Parallel()
	const hidden, others = "hunter2-hunter2-hunter2", "tr0ub4dor-tr0ub4dor"
	dir, plugins := workspace(t, `
adapters:
  echo: {plugin: echo, env: {TOKEN: "${E2E_SECRET}"}, tools: {echo: {cache: 1h}}}
  careful: {plugin: echo, env: {TOKEN: "${E2E_SECRET}"}}
  other: {plugin: echo, env: {TOKEN: "${E2E_OTHER}"}}
  scanner: {plugin: scanner, config: {arguments: mask, patterns: ["label-[0-9]+"]}}
hooks:
- {adapter: scanner, tools: [echo_echo, other_echo], powers: [edit_result]}
rules:
- confirm: [careful_echo]
approval: deferred
http: {allow_anonymous: true, listen: "`+freePort(t)+`"}
`)
	install(t, "echo", plugins)
	install(t, "scanner", plugins)
	h := serveWith(t, dir, toolwharf, "E2E_SECRET="+hidden, "E2E_OTHER="+others)
	heard := make(chan string, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { heard <- fmt.Sprint(r.Params.Data) },
	})
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, name := range []string{"echo_echo", "careful_echo", "other_echo", "scanner_scan"} {
		lists(t, s, name, true)
	}
	call := func(name, text string, meta mcp.Meta) (*mcp.CallToolResult, error) {
		return s.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: name, Arguments: map[string]any{"text": text}})
	}

	for _, cached := range []bool{false, true} {
		r, err := call("echo_echo", hidden+" and label-7", nil)
		if err != nil || strings.Contains(textOf(r), hidden) || !strings.Contains(textOf(r), "[redacted]") || strings.Contains(textOf(r), "label-7") {
			t.Errorf("edited by a hook, cached %v: %v %q", cached, err, textOf(r))
		}
		if was, _ := r.Meta["toolwharf/cached"].(bool); was != cached {
			t.Errorf("cached: %v, want %v", was, cached)
		}
	}
	if r, err := call("other_echo", hidden+" "+others, nil); err != nil || textOf(r) != hidden+" [redacted]" {
		t.Errorf("what is another adapter's secret: %v %q", err, textOf(r))
	}

	r, err := call("careful_echo", "harmless", nil)
	p := parked(t, r, err)
	if _, stderr, code := run(t, dir, "approvals", "approve", p.approval, "--args", `{"text":"now `+hidden+`"}`); code != 0 {
		t.Fatalf("approve: exit %d: %s", code, stderr)
	}
	r, err = call("careful_echo", "harmless", mcp.Meta{"toolwharf/run_id": p.run, "toolwharf/call_id": p.call})
	if err != nil || r.IsError || textOf(r) != "now [redacted]" {
		t.Errorf("with arguments that were edited: %v %q", err, textOf(r))
	}
	_, err = s.CallTool(t.Context(), &mcp.CallToolParams{
		Meta: mcp.Meta{"io.modelcontextprotocol/logLevel": "debug"}, Name: "echo_notify",
		Arguments: map[string]any{"level": "warning", "data": "streamed " + hidden},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "streamed [redacted]" {
		t.Errorf("streamed: %q", got)
	}
}
