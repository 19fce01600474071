// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdioCommand is the host as a desktop client starts it.
func stdioCommand(t *testing.T, dir string) (*exec.Cmd, *buffer) {
	t.Helper()
	cmd := exec.Command(toolwharf, "serve", "--stdio", "-c", filepath.Join(dir, "toolwharf.yaml"), "--log-level", "debug")
	stderr := &buffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

func TestTheGoClientListsCallsAndIsToldOfChangesOverStdioInBothEras(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(protocol, func(t *testing.T) {
			dir, plugins := workspace(t, "")
			install(t, "echo", plugins)
			cmd, stderr := stdioCommand(t, dir)
			told := make(chan struct{}, 16)
			client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
			})
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd},
				&mcp.ClientSessionOptions{ProtocolVersion: protocol})
			if err != nil {
				t.Fatalf("connect: %v\n%s", err, stderr)
			}
			got, err := names(t.Context(), session)
			if err != nil || len(got) == 0 {
				t.Fatalf("the first list: %v, %v", got, err)
			}
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_echo", Arguments: map[string]any{"text": "x"}})
			if err != nil || r.IsError {
				t.Fatalf("call: %v, %+v", err, r)
			}
			install(t, "hello", plugins)
			lists(t, session, "hello_greet", true)
			heard(t, told, "of the new tool")
			if err := session.Close(); err != nil {
				t.Errorf("close: %v\n%s", err, stderr)
			}
			eventually(t, "no plugin is left", func() error { return noneOf(plugins) })
		})
	}
}

func TestInStdioModeStdoutHoldsNothingButProtocolAndStderrIsStructured(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	script(t, plugins, "noisy", "echo noise on stdout; echo noise on stderr >&2; sleep 1000")
	cmd, stderr := stdioCommand(t, dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ask := func(request string) map[string]json.RawMessage {
		t.Helper()
		if _, err := io.WriteString(in, request+"\n"); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			var m map[string]json.RawMessage
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil || string(m["jsonrpc"]) != `"2.0"` {
				t.Fatalf("stdout holds %q", lines.Bytes())
			}
			if _, ok := m["id"]; ok {
				return m
			}
		}
		t.Fatalf("no answer: %v\n%s", lines.Err(), stderr)
		return nil
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	m := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo_numbers","arguments":{"value":9007199254740993}}}`)
	if !bytes.Contains(m["result"], []byte("9007199254740993")) {
		t.Errorf("call: %s %s", m["result"], m["error"])
	}
	_ = in.Close() // the client goes
	for lines.Scan() {
		if !json.Valid(lines.Bytes()) {
			t.Errorf("stdout holds %q", lines.Bytes())
		}
	}
	if err := cmd.Wait(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Errorf("the host ended with %v\n%s", err, stderr)
		}
	}
	for line := range strings.Lines(stderr.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry["@level"] == nil || entry["@message"] == nil {
			t.Errorf("stderr holds %q", line)
		}
	}
	if err := noneOf(plugins); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "toolwharf-*")); len(left) > 0 {
		t.Logf("socket directories of other hosts: %v", left)
	}
}
