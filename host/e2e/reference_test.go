// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	return h.formAs(t, nil, params)
}

// formAs is that of a client which says who it is.
func (h *host) formAs(t *testing.T, with headers, params string) map[string]json.RawMessage {
	t.Helper()
	headers, body := modern(1, "tools/call", "echo_append_line", `"name":"echo_append_line","arguments":{"line":"x","n":1}`+params)
	body = strings.Replace(body, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`, 1)
	maps.Copy(headers, with)
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

func TestThePrincipalIsTheBearersClientIssuerAndSubjectUnlessAnExpressionNamesIt(t *testing.T) {
	t.Parallel()
	desk := newToken(t, "--client-id", "desk", "--subject", "ada", "--scope", "read")
	shop := newToken(t, "--client-id", "shop")
	say := func(s *mcp.ClientSession) (*mcp.CallToolResult, error) {
		return s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_append_line", Arguments: json.RawMessage(`{"line":"x","n":1}`)})
	}
	for name, c := range map[string]struct {
		http string // beside listen
		with headers
		want string // the principal in the ledger, or how the request is refused
	}{
		"a token's":                    {"auth: {tokens: [DESK, SHOP]}", desk.header(), `["desk","","ada"]`},
		"a token's without a subject":  {"auth: {tokens: [DESK, SHOP]}", shop.header(), `["shop","",""]`},
		"named by its token":           {"auth: {tokens: [DESK], principal: 'token.client_id + \"/\" + token.scopes[0]'}", desk.header(), "named/desk/read"},
		"named by a header":            {"auth: {principal: 'headers[\"x-user\"]'}", headers{"X-User": "ada"}, "named/ada"},
		"named as somebody else":       {"auth: {principal: 'headers[\"x-user\"]'}", headers{"X-User": "operator/root"}, "named/operator/root"},
		"named by its address":         {"auth: {principal: peer}", nil, "named/127.0.0.1"},
		"the expression fails":         {"auth: {principal: 'headers[\"x-user\"]'}", nil, "403 principal-failed"},
		"it fails with a token":        {"auth: {tokens: [SHOP], principal: 'token.scopes[0]'}", shop.header(), "403 principal-failed"},
		"it fails where nobody must":   {"allow_anonymous: true, auth: {principal: 'headers[\"x-user\"]'}", nil, "403 principal-failed"},
		"no name":                      {"auth: {principal: 'token.subject'}", nil, "401 unauthorized"},
		"no name, and none is needed":  {"allow_anonymous: true, auth: {principal: 'token.subject'}", nil, "anonymous"},
		"a name in place of the token": {"auth: {tokens: [DESK], principal: 'headers[\"x-user\"]'}", headers{"X-User": "ada"}, "401 unauthorized"},
		"a name is no authentication":  {"auth: {principal: 'headers[\"x-user\"]'}", headers{"X-User": "ada", "X-Forwarded-For": "203.0.113.7"}, "403 non-local-client"},
	} {
		t.Run(name, func(t *testing.T) {
			more := strings.NewReplacer("DESK", desk.entry(), "SHOP", shop.entry()).Replace(c.http)
			dir, lines := approving(t, fmt.Sprintf("http: {listen: %q, %s}\ndefaults: {additive: allow}\n", freePort(t), more))
			h := serve(t, dir)
			s, err := h.tryWith(c.with, "", nil)
			if err != nil {
				status, _, code, _ := h.refusal(t, h.url, c.with)
				if got := fmt.Sprint(status, " ", code); got != c.want {
					t.Errorf("%s %v, want %s", got, err, c.want)
				}
				if got := ran(t, lines); len(got) != 0 || len(rows(t, dir)) != 0 {
					t.Errorf("ran %q", got)
				}
				return
			}
			defer func() { _ = s.Close() }()
			lists(t, s, "echo_append_line", true)
			if r, err := say(s); err != nil || r.IsError {
				t.Fatalf("%v %+v", err, r)
			}
			if got := principals(t, dir, 1); got[0] != c.want {
				t.Errorf("the call is of %s, want %s", got[0], c.want)
			}
		})
	}
	dir, _ := workspace(t, "http: {listen: \"0.0.0.0:8000\", allowed_hosts: [x], auth: {principal: peer}}\n")
	if _, stderr, code := run(t, dir, "serve"); code != 2 || !strings.Contains(stderr, "http.listen") {
		t.Errorf("names on a non-local address: exit %d: %s", code, stderr)
	}
	dir, _ = workspace(t, "http:\n  auth:\n    principal: 'headers.nobody('\n")
	if _, stderr, code := run(t, dir, "serve"); code != 2 || !strings.Contains(stderr, "toolwharf.yaml:4:") || !strings.Contains(stderr, "http.auth.principal") {
		t.Errorf("no expression: exit %d: %s", code, stderr)
	}
}

func TestToolsListShowsWhatIsVisibleToThePrincipalAndTheRestIsNotThere(t *testing.T) {
	t.Parallel()
	desk, shop := newToken(t, "--client-id", "desk", "--subject", "ada"), newToken(t, "--client-id", "shop")
	dir, plugins := workspace(t, fmt.Sprintf(`
http: {listen: %q, auth: {tokens: [%s, %s]}}
rules:
  - {deny: [echo_count, hello_*], principals: [shop, "stdio/*"]}
  - {confirm: [echo_echo], principals: [shop]}
  - {deny: [echo_numbers], principals: ['["desk",*']}
  - {deny: [echo_notes], principals: ["*"]}
approval: deferred
`, freePort(t), desk.entry(), shop.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	cmd, _ := stdioCommand(t, dir)
	stdio, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdio.Close() }()
	told := make(chan struct{}, 16)
	sessions := map[string]*mcp.ClientSession{
		"desk": h.connectWith(desk.header(), "2026-07-28", nil), "desk, older": h.connectWith(desk.header(), "2025-06-18", nil),
		"shop": h.connectWith(shop.header(), "2026-07-28", func() { told <- struct{}{} }), "shop, older": h.connectWith(shop.header(), "2025-06-18", nil),
		"stdio": stdio,
	}
	hidden := map[string][]string{
		"desk": {"echo_numbers", "echo_notes"}, "desk, older": {"echo_numbers", "echo_notes"},
		"shop": {"echo_count", "echo_notes"}, "shop, older": {"echo_count", "echo_notes"},
		"stdio": {"echo_count", "echo_notes"},
	}
	for name, s := range sessions {
		lists(t, s, "echo_echo", true) // what is to be confirmed is listed
		got, err := names(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"echo_count", "echo_numbers", "echo_notes"} {
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"value": 1}})
			want := slices.Contains(hidden[name], tool)
			if slices.Contains(got, tool) == want {
				t.Errorf("%s sees %v", name, got)
			}
			if !want {
				if err != nil && strings.Contains(err.Error(), "unknown") {
					t.Errorf("%s calls %s: %v", name, tool, err)
				}
				continue
			}
			unknown(t, err, tool)
			_, none := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_nobody"})
			if got := strings.ReplaceAll(err.Error(), tool, "X"); none == nil || got != strings.ReplaceAll(none.Error(), "echo_nobody", "X") {
				t.Errorf("%s tells %v from %v", name, err, none)
			}
		}
	}
	for len(told) > 0 {
		<-told
	}
	install(t, "hello", plugins)
	lists(t, sessions["desk"], "hello_greet", true)
	lists(t, sessions["shop"], "hello_greet", false)
	// Refused calls of hidden tools are in the ledger, where the client does not look.
	eventually(t, "what was hidden and called is recorded", func() error {
		n := 0
		for _, row := range rows(t, dir) {
			if row["error_code"] == "hidden" && row["outcome"] == "refused" {
				n++
			}
		}
		if n < 8 {
			return fmt.Errorf("%d rows", n)
		}
		return nil
	})
	if len(told) != 0 {
		t.Error("shop is told of tools that it does not see")
	}
}

func TestRawKeysStayWithTheClientAndItsHost(t *testing.T) {
	t.Parallel()
	desk, shop := newToken(t, "--client-id", "desk"), newToken(t, "--client-id", "shop")
	dir, lines := approving(t, fmt.Sprintf("http: {listen: %q, auth: {tokens: [%s, %s]}}\n", freePort(t), desk.entry(), shop.entry()))
	h := serve(t, dir)
	mine, theirs := h.connectWith(desk.header(), "", nil), h.connectWith(shop.header(), "", nil)
	lists(t, mine, "echo_append_line", true)
	const raw = "raw-key-of-the-run"
	ask := resumed(pending{})
	ask.Meta = mcp.Meta{"toolwharf/run_id": raw}
	r, err := mine.CallTool(t.Context(), ask)
	p := parked(t, r, err)
	if p.run != raw {
		t.Errorf("the client's own key is %q", p.run)
	}
	decide(t, dir, "approve", p.approval)
	// Another principal with the very same keys asks for a call of its own, in a
	// run of its own.
	r, err = theirs.CallTool(t.Context(), resumed(p))
	other := parked(t, r, err)
	if other.approval == p.approval || other.call == p.call || len(ran(t, lines)) != 0 {
		t.Errorf("two principals share %+v", other)
	}
	changed := resumed(p)
	changed.Arguments = json.RawMessage(`{"line":"y","n":1}`)
	r, err = mine.CallTool(t.Context(), changed)
	says(t, r, err, "approval_denied", "approval_mismatch")
	refused, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = mine.CallTool(t.Context(), resumed(p)); err != nil || r.IsError {
		t.Fatalf("resume: %v %s", err, textOf(r))
	}
	// The plugin was told the scoped ids, as the ledger has them.
	var runs []string
	eventually(t, "every call is in the ledger", func() error {
		runs = nil
		for _, row := range rows(t, dir) {
			if run, _ := row["run"].(string); row["op"] == "tool" {
				runs = append(runs, run)
			}
		}
		if len(runs) != 4 {
			return fmt.Errorf("%d rows", len(runs))
		}
		return nil
	})
	if runs[0] != runs[3] || runs[0] == runs[1] || !strings.HasPrefix(runs[0], "run_") {
		t.Errorf("runs are %q", runs)
	}
	if bytes.Contains(refused, []byte(runs[0])) {
		t.Errorf("the client sees a derived id: %s", refused)
	}
	for _, args := range [][]string{{"ledger", "export"}, {"runs", "list", "--json"}, {"approvals", "list", "--json"}} {
		stdout, stderr, code := run(t, dir, args...)
		if code != 0 || strings.Contains(stdout+stderr, raw) || strings.Contains(stdout, p.call) {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
	h.stop()
	_ = filepath.WalkDir(filepath.Join(dir, ".toolwharf"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte(raw)) || bytes.Contains(text, []byte(p.call)) {
			t.Errorf("%s has a key of the client's, or cannot be read: %v", path, err)
		}
		return nil
	})
}
