// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tests of this file are named after the rules that they hold the host to:
// what its users are promised about who may come back for a call, and what for.

const keyed = "http: {allow_anonymous: true, listen: %q}\n"

// overStdio starts a host of the same state for one stdio client.
func overStdio(t *testing.T, dir string) *mcp.ClientSession {
	t.Helper()
	cmd, stderr := stdioCommand(t, dir)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	t.Cleanup(func() { _ = s.Close() })
	lists(t, s, "echo_append_line", true)
	return s
}

func parkedHost(t *testing.T, more string) (*host, *mcp.ClientSession, string, string) {
	t.Helper()
	dir, lines := approving(t, fmt.Sprintf(keyed, freePort(t))+more)
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	return h, s, dir, lines
}

func TestIdsAreScopedByPrincipal(t *testing.T) {
	_, s, dir, lines := parkedHost(t, "")
	r, err := s.CallTool(t.Context(), resumed(pending{}))
	p := parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	// The same keys from another principal name nothing: a fresh call.
	r, err = overStdio(t, dir).CallTool(t.Context(), resumed(p))
	if other := parked(t, r, err); other.approval == p.approval || other.call == p.call {
		t.Errorf("two principals share %+v", other)
	}
	if got := ran(t, lines); len(got) != 0 {
		t.Errorf("ran %q", got)
	}
}

func TestAHTTPHostWithoutAuthenticationServesItsOwnUserOnThisMachineOnly(t *testing.T) {
	h, _, dir, _ := parkedHost(t, "")
	for header, code := range map[string]string{
		"Forwarded": "non-local-client", "X-Forwarded-For": "non-local-client", "Origin": "origin-not-allowed",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, "https://evil.example")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Error, Message string }
		err = json.NewDecoder(resp.Body).Decode(&body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusForbidden || body.Error != code || body.Message == "" {
			t.Errorf("%s: %s %+v %v", header, resp.Status, body, err)
		}
	}
	file := filepath.Join(dir, "open.yaml")
	if err := os.WriteFile(file, []byte("http: {listen: \"0.0.0.0:8000\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := run(t, dir, "serve", "-c", "open.yaml"); code != 2 || !strings.Contains(stderr, "http.listen") || !strings.Contains(stderr, "http.allowed_hosts") {
		t.Errorf("a non-local address: exit %d: %s", code, stderr)
	}
}

func TestAnonymousKeysCountOverStdioAndNotOverHTTPUnlessSaidOtherwise(t *testing.T) {
	dir, lines := approving(t, "")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	r, err := s.CallTool(t.Context(), resumed(pending{}))
	p := parked(t, r, err)
	if p.run != "" || p.call != "" {
		t.Errorf("an anonymous caller over HTTP got keys: %+v", p)
	}
	decide(t, dir, "approve", p.approval)
	r, err = s.CallTool(t.Context(), resumed(pending{p.approval, "run_x", "call_x"}))
	if again := parked(t, r, err); again.approval == p.approval {
		t.Error("it came back for the call")
	}
	local := overStdio(t, dir)
	r, err = local.CallTool(t.Context(), resumed(pending{}))
	p = parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	if r, err = local.CallTool(t.Context(), resumed(p)); err != nil || r.IsError {
		t.Errorf("stdio: %v %s", err, textOf(r))
	}
	if got := ran(t, lines); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
}

func TestCallKeysOnlyResume(t *testing.T) {
	_, s, dir, lines := parkedHost(t, "")
	r, err := s.CallTool(t.Context(), resumed(pending{}))
	p := parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	if r, err = s.CallTool(t.Context(), resumed(p)); err != nil || r.IsError {
		t.Fatalf("resume: %v %s", err, textOf(r))
	}
	r, err = s.CallTool(t.Context(), resumed(p))
	says(t, r, err, "approval_denied", "approval_used")
	// With a key of its own a caller neither chooses a call's id nor avoids a
	// decision.
	r, err = s.CallTool(t.Context(), resumed(pending{"", p.run, "my-own-key"}))
	if fresh := parked(t, r, err); fresh.call == "my-own-key" || fresh.call == p.call {
		t.Errorf("a fresh call has the key %s", fresh.call)
	}
	if got := ran(t, lines); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
}

func TestResumesAreSingleUseAlsoAtOnceAndOnTwoHosts(t *testing.T) {
	_, s, dir, lines := parkedHost(t, "")
	other := serveOn(t, dir, toolwharf, freePort(t)).connect("", nil)
	lists(t, other, "echo_append_line", true)
	r, err := s.CallTool(t.Context(), resumed(pending{}))
	p := parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	var mu sync.Mutex
	var all sync.WaitGroup
	codes := map[string]int{}
	for i := range 16 {
		on := s
		if i%2 == 1 {
			on = other
		}
		all.Go(func() {
			r, err := on.CallTool(t.Context(), resumed(p))
			code := fmt.Sprint(err)
			if err == nil {
				code, _ = r.Meta["toolwharf/error_code"].(string)
			}
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
		})
	}
	all.Wait()
	if codes[""] != 1 || codes["approval_used"]+codes["approval_busy"] != 15 {
		t.Errorf("answers %v", codes)
	}
	if got := ran(t, lines); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
}

func TestResumesAreCheckedInTheStoreSoThatAnyHostSharingItAnswers(t *testing.T) {
	_, s, dir, lines := parkedHost(t, "")
	r, err := s.CallTool(t.Context(), resumed(pending{}))
	p := parked(t, r, err)
	other := serveOn(t, dir, toolwharf, freePort(t)).connect("", nil)
	lists(t, other, "echo_append_line", true)
	decide(t, dir, "approve", p.approval)
	if r, err := other.CallTool(t.Context(), resumed(p)); err != nil || r.IsError {
		t.Errorf("the other host: %v %s", err, textOf(r))
	}
	if got := ran(t, lines); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
}

// form asks for a call as a client that can show forms, and returns the state.
func (h *host) form(t *testing.T, params string) map[string]json.RawMessage {
	t.Helper()
	headers, body := modern(1, "tools/call", "echo_append_line", `"name":"echo_append_line","arguments":{"line":"x","n":1}`+params)
	body = strings.Replace(body, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`, 1)
	m := h.rpc(t, headers, body)
	var result map[string]json.RawMessage
	if m["result"] == nil {
		return map[string]json.RawMessage{"error": m["error"]}
	}
	if err := json.Unmarshal(m["result"], &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestClientApprovalStatesAreSealedBoundAndSingleUse(t *testing.T) {
	dir, lines := approving(t, "approval: {client_form: true, state_keys: [\"0123456789abcdef0123456789abcdef\"]}\n")
	h := serve(t, dir)
	other := serveOn(t, dir, toolwharf, freePort(t))
	lists(t, h.connect("", nil), "echo_append_line", true)
	lists(t, other.connect("", nil), "echo_append_line", true)
	asked := h.form(t, "")
	if string(asked["resultType"]) != `"input_required"` || len(asked["requestState"]) == 0 {
		t.Fatalf("asked: %s", asked)
	}
	yes := `,"inputResponses":{"approve":{"action":"accept","content":{"approve":true}}},"requestState":`
	state := string(asked["requestState"])
	flipped := []byte(state)
	flipped[len(flipped)/2] ^= 1
	for name, params := range map[string]string{"changed": yes + string(flipped), "made up": yes + `"v1.AAAA"`} {
		if got := h.form(t, params); !bytes.Contains(got["error"], []byte("-32602")) || !bytes.Contains(got["error"], []byte("invalid request state")) {
			t.Errorf("%s state: %s", name, got)
		}
	}
	if got := other.form(t, yes+state); len(got["isError"]) != 0 {
		t.Errorf("the other host, which shares store and keys: %s", got)
	}
	for _, on := range []*host{h, other} {
		if got := on.form(t, yes+state); !bytes.Contains(got["_meta"], []byte("approval_used")) {
			t.Errorf("again: %s", got)
		}
	}
	if got := ran(t, lines); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
}

func TestAResumedCallIsDecidedByWhoParkedItAndTheClientIsNeverAskedAgain(t *testing.T) {
	dir, lines := approving(t, fmt.Sprintf(keyed, freePort(t))+"approval: {mode: deferred, client_form: true}\n")
	h := serve(t, dir)
	older := h.connect("2025-06-18", nil) // cannot be asked: falls back to the mode
	lists(t, older, "echo_append_line", true)
	r, err := older.CallTool(t.Context(), resumed(pending{}))
	p := parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	user := &person{answer: func(string) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }}
	if r, err := h.connectAs(user, "").CallTool(t.Context(), resumed(p)); err != nil || r.IsError {
		t.Errorf("resume: %v %s", err, textOf(r))
	}
	if q := user.questions(); len(q) != 0 {
		t.Errorf("asked %q", q)
	}
	if got := ran(t, lines); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
}

func TestTheClientSeesItsOwnKeysNeverTheDerivedIds(t *testing.T) {
	_, s, dir, _ := parkedHost(t, "")
	params := resumed(pending{})
	params.Meta = mcp.Meta{"toolwharf/run_id": "my-run"}
	r, err := s.CallTool(t.Context(), params)
	p := parked(t, r, err)
	if p.run != "my-run" {
		t.Errorf("run is %q", p.run)
	}
	stdout, _, _ := run(t, dir, "approvals", "show", p.approval, "--json")
	var shown struct{ Run, Call string }
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Run == p.run || shown.Call == p.call || shown.Run == "" {
		t.Errorf("the store has the client's keys: %+v", shown)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte(shown.Run)) || bytes.Contains(raw, []byte(shown.Call)) {
		t.Errorf("the client sees derived ids: %s", raw)
	}
}

func TestTheRunKeyComesFromMetaElseFromTheHeader(t *testing.T) {
	h, _, dir, _ := parkedHost(t, "")
	for _, c := range []struct{ header, meta string }{{"a", ""}, {"", "a"}, {"b", "a"}, {"b", ""}} {
		headers, body := modern(1, "tools/call", "echo_count", `"name":"echo_count","arguments":{}`)
		if c.header != "" {
			headers["X-Run-Id"] = c.header
		}
		if c.meta != "" {
			body = strings.Replace(body, `"_meta":{`, `"_meta":{"toolwharf/run_id":"`+c.meta+`",`, 1)
		}
		if m := h.rpc(t, headers, body); m["error"] != nil {
			t.Fatalf("%+v: %s", c, m["error"])
		}
	}
	eventually(t, "three calls are of one run, the last is of another", func() error {
		stdout, _, _ := run(t, dir, "ledger", "tail", "--json", "--tool", "echo_count")
		var runs []string
		for line := range strings.Lines(stdout) {
			var row struct{ Run string }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				return err
			}
			runs = append(runs, row.Run)
		}
		if len(runs) != 4 || runs[0] != runs[1] || runs[1] != runs[2] || runs[2] == runs[3] {
			return fmt.Errorf("runs %q", runs)
		}
		return nil
	})
}
