// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTheGoClientListsAndCallsOverHTTPInBothEras(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serve(t, dir)
	for _, protocol := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run(protocol, func(t *testing.T) {
			session := h.connect(protocol, nil)
			if got := session.InitializeResult().ProtocolVersion; got != protocol {
				t.Errorf("negotiated %s", got)
			}
			lists(t, session, "echo_echo", true)
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_echo", Arguments: map[string]any{"text": "héllo"}})
			if err != nil || r.IsError {
				t.Fatalf("call: %v, %+v", err, r)
			}
			if text, ok := r.Content[0].(*mcp.TextContent); !ok || text.Text != "héllo" {
				t.Errorf("content is %+v", r.Content[0])
			}
			_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_nothing"})
			if err == nil || !strings.Contains(err.Error(), `unknown tool "echo_nothing"`) {
				t.Errorf("unknown tool: %v", err)
			}
		})
	}
}

// rpc posts one JSON-RPC request and returns its result.
func (h *host) rpc(t *testing.T, headers map[string]string, body string) map[string]json.RawMessage {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v: %s", resp.Status, err, raw)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type is %s", got)
	}
	return m
}

// modern wraps params in what 2026-07-28 wants of every request.
func modern(id int, method, name, params string) (headers map[string]string, body string) {
	headers = map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		headers["Mcp-Name"] = name
	}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}`
	if params != "" {
		params += ","
	}
	return headers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, id, method, params, meta)
}

func TestRawJSONRPCListsAndCallsInBothErasWithExactDigits(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serve(t, dir)
	const call = `"name":"echo_numbers","arguments":{"value":[9007199254740993,1.10,12345678901234567890123,1e2]}`
	const digits = `[9007199254740993,1.10,12345678901234567890123,1e2]`

	t.Run("2026-07-28", func(t *testing.T) {
		m := h.rpc(t, first(modern(1, "server/discover", "", "")), second(modern(1, "server/discover", "", "")))
		if !bytes.Contains(m["result"], []byte("2026-07-28")) {
			t.Errorf("discover: %s %s", m["result"], m["error"])
		}
		headers, body := modern(2, "tools/list", "", "")
		m = h.rpc(t, headers, body)
		for _, part := range []string{`"echo_numbers"`, `"resultType":"complete"`, `"ttlMs"`, `"cacheScope":"private"`} {
			if !bytes.Contains(m["result"], []byte(part)) {
				t.Errorf("tools/list lacks %s: %s %s", part, m["result"], m["error"])
			}
		}
		headers, body = modern(3, "tools/call", "echo_numbers", call)
		m = h.rpc(t, headers, body)
		if !bytes.Contains(m["result"], []byte(digits)) || string(m["id"]) != "3" {
			t.Errorf("tools/call: %s %s", m["result"], m["error"])
		}
		headers, body = modern(4, "tools/call", "echo_echo", `"name":"echo_echo","arguments":{"text":"a","text":"b"}`)
		m = h.rpc(t, headers, body)
		if !bytes.Contains(m["result"], []byte(`"toolwharf/error_kind":"args_invalid"`)) {
			t.Errorf("duplicate key: %s %s", m["result"], m["error"])
		}
		headers, body = modern(5, "tools/call", "nothing", `"name":"nothing","arguments":{}`)
		m = h.rpc(t, headers, body)
		if !bytes.Contains(m["error"], []byte("-32602")) {
			t.Errorf("unknown tool: %s %s", m["result"], m["error"])
		}
	})
	t.Run("2025-06-18", func(t *testing.T) {
		m := h.rpc(t, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
		if !bytes.Contains(m["result"], []byte(`"protocolVersion":"2025-06-18"`)) {
			t.Errorf("initialize: %s %s", m["result"], m["error"])
		}
		headers := map[string]string{"MCP-Protocol-Version": "2025-06-18"}
		m = h.rpc(t, headers, `{"jsonrpc":"2.0","id":"b","method":"tools/list"}`)
		if !bytes.Contains(m["result"], []byte(`"echo_numbers"`)) {
			t.Errorf("tools/list: %s %s", m["result"], m["error"])
		}
		m = h.rpc(t, headers, `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{`+call+`}}`)
		if !bytes.Contains(m["result"], []byte(digits)) || string(m["id"]) != `"c"` {
			t.Errorf("tools/call: %s %s", m["result"], m["error"])
		}
	})
}

func first(headers map[string]string, _ string) map[string]string { return headers }
func second(_ map[string]string, body string) string              { return body }

func TestEveryCallIsInTheLedger(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serve(t, dir)
	session := h.connect("", nil)
	lists(t, session, "echo_echo", true)
	calls := []struct {
		tool string
		args map[string]any
		want string // outcome error_kind
	}{
		{"echo_echo", map[string]any{"text": "x"}, "ok "},
		{"echo_echo", map[string]any{"txt": "x"}, "refused args_invalid"},
		{"echo_danger", map[string]any{}, "refused approval_denied"},
		{"echo_fail", map[string]any{"kind": "tool_error", "code": "not_there", "text": "no"}, "failed tool_error"},
		{"echo_panic", map[string]any{}, "failed tool_failed"},
	}
	for _, c := range calls {
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.args}); err != nil {
			t.Fatalf("%s: %v", c.tool, err)
		}
	}
	eventually(t, "every call is in the ledger", func() error {
		stdout, stderr, code := run(t, dir, "ledger", "tail", "--json")
		if code != 0 {
			return fmt.Errorf("exit %d: %s", code, stderr)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if len(lines) != len(calls) {
			return fmt.Errorf("%d rows of %d", len(lines), len(calls))
		}
		for i, c := range calls {
			var row map[string]any
			if err := json.Unmarshal([]byte(lines[i]), &row); err != nil {
				return err
			}
			kind, _ := row["error_kind"].(string)
			if got := fmt.Sprint(row["outcome"], " ", kind); row["tool"] != c.tool || got != c.want {
				return fmt.Errorf("row %d is %s %s, should be %s %s", i, row["tool"], got, c.tool, c.want)
			}
		}
		return nil
	})
}

func TestAToolThatNeedsApprovalIsRefusedAndNeverRuns(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serve(t, dir)
	session := h.connect("", nil)
	lists(t, session, "echo_write_note", true)
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_write_note", Arguments: map[string]any{"text": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	if !r.IsError || r.Meta["toolwharf/error_kind"] != "approval_denied" || text == nil || !strings.Contains(text.Text, "additive") {
		t.Errorf("answer is %+v, %+v", r, r.Content[0])
	}
	r, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_notes"})
	if err != nil || r.IsError {
		t.Fatalf("notes: %v, %+v", err, r)
	}
	if raw, _ := json.Marshal(r.StructuredContent); bytes.Contains(raw, []byte(`"x"`)) {
		t.Errorf("it ran: %s", raw)
	}
}
