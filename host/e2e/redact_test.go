// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
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
