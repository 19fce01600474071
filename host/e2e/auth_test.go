// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// credential is what `token new --json` prints.
type credential struct {
	Token    string   `json:"token"`
	SHA256   string   `json:"sha256"`
	ClientID string   `json:"client_id"`
	Subject  string   `json:"subject,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
}

// newToken makes a token as an operator does.
func newToken(t *testing.T, args ...string) credential {
	t.Helper()
	stdout, stderr, code := run(t, t.TempDir(), append([]string{"token", "new", "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("token new: exit %d: %s", code, stderr)
	}
	var c credential
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// entry is its item of http.auth.tokens.
func (c credential) entry() string {
	c.Token = ""
	raw, _ := json.Marshal(c)
	return strings.Replace(string(raw), `"token":"",`, "", 1)
}

// headers is a transport that adds headers to every request.
type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (c credential) header() headers { return headers{"Authorization": "Bearer " + c.Token} }

// connectWith is connect with headers.
func (h *host) connectWith(with headers, protocol string, changed func()) *mcp.ClientSession {
	h.t.Helper()
	session, err := h.tryWith(with, protocol, changed)
	if err != nil {
		h.t.Fatalf("connect: %v", err)
	}
	h.t.Cleanup(func() { _ = session.Close() })
	return session
}

func (h *host) tryWith(with headers, protocol string, changed func()) (*mcp.ClientSession, error) {
	h.t.Helper()
	options := &mcp.ClientOptions{}
	if changed != nil {
		options.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { changed() }
	}
	return mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, options).Connect(h.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: h.url, HTTPClient: &http.Client{Transport: with}},
		&mcp.ClientSessionOptions{ProtocolVersion: protocol})
}

// refusal posts a call with headers, and returns how it was refused.
func (h *host) refusal(t *testing.T, url string, with headers) (status int, challenge, code, message string) {
	t.Helper()
	return h.refused(t, url, with, "tools/call", "echo_echo", `"name":"echo_echo","arguments":{"text":"x"}`)
}

// refused is that of any request.
func (h *host) refused(t *testing.T, url string, with headers, method, name, params string) (status int, challenge, code, message string) {
	t.Helper()
	headers, body := modern(1, method, name, params)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	for k, v := range with {
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
	var said struct{ Error, Message string }
	_ = json.Unmarshal(raw, &said) // of an MCP answer error is no text
	return resp.StatusCode, resp.Header.Get("WWW-Authenticate"), said.Error, said.Message
}

// unknown fails the test unless a call was answered like that of no tool.
func unknown(t *testing.T, err error, tool string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown tool %q", tool)) {
		t.Errorf("calling %s: %v", tool, err)
	}
}

// rows are the ledger's, oldest first.
func rows(t *testing.T, dir string) []map[string]any {
	t.Helper()
	stdout, stderr, code := run(t, dir, "ledger", "tail", "--json")
	if code != 0 {
		t.Fatalf("ledger tail: exit %d: %s", code, stderr)
	}
	var out []map[string]any
	for line := range strings.Lines(stdout) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// principals waits until the ledger has as many rows, and returns who called.
func principals(t *testing.T, dir string, calls int) []string {
	t.Helper()
	var who []string
	eventually(t, fmt.Sprintf("%d calls are in the ledger", calls), func() error {
		who = nil
		for _, row := range rows(t, dir) {
			p, _ := row["principal"].(string)
			who = append(who, p)
		}
		if len(who) != calls {
			return fmt.Errorf("there are %d", len(who))
		}
		return nil
	})
	return who
}

func TestATokenLetsInAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	desk, old := newToken(t, "--client-id", "desk"), newToken(t, "--client-id", "desk")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, auth: {tokens: [%s]}}\n", freePort(t), desk.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	for _, protocol := range []string{"2026-07-28", "2025-06-18"} {
		s := h.connectWith(desk.header(), protocol, nil)
		lists(t, s, "echo_echo", true)
		if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_echo", Arguments: map[string]any{"text": "x"}}); err != nil || r.IsError {
			t.Errorf("%s: %v %+v", protocol, err, r)
		}
		for name, with := range map[string]headers{"no": {}, "another": old.header(), "half a": {"Authorization": "Bearer " + desk.Token[:20]}} {
			if s, err := h.tryWith(with, protocol, nil); err == nil {
				_ = s.Close()
				t.Errorf("%s: %s token lets in", protocol, name)
			}
		}
	}
	for name, c := range map[string]struct {
		url       string
		with      headers
		challenge string
	}{
		"none":               {h.url, nil, `Bearer realm="toolwharf"`},
		"a wrong one":        {h.url, old.header(), `error="invalid_token"`},
		"the digest":         {h.url, headers{"Authorization": "Bearer " + desk.SHA256}, `error="invalid_token"`},
		"a password":         {h.url, headers{"Authorization": "Basic " + desk.Token}, `error="invalid_token"`},
		"one in the URL":     {h.url + "?access_token=" + desk.Token, nil, `Bearer realm="toolwharf"`},
		"both":               {h.url + "?access_token=" + desk.Token, desk.header(), `error="invalid_token"`},
		"one in another key": {h.url + "?token=" + desk.Token, headers{"X-Api-Key": desk.Token}, `Bearer realm="toolwharf"`},
	} {
		status, challenge, code, message := h.refusal(t, c.url, c.with)
		if status != http.StatusUnauthorized || !strings.Contains(challenge, c.challenge) || code != "unauthorized" || message == "" {
			t.Errorf("%s: %d %q %q %q", name, status, challenge, code, message)
		}
	}
	if got := principals(t, dir, 2); !slices.Equal(got, []string{`["desk","",""]`, `["desk","",""]`}) {
		t.Errorf("the ledger has calls of %q", got)
	}
	// A proxy in front of it is no hindrance where every caller proves who it is.
	proxied := desk.header()
	proxied["X-Forwarded-For"] = "203.0.113.7"
	lists(t, h.connectWith(proxied, "", nil), "echo_echo", true)
	if log := h.stderr.String(); strings.Contains(log, desk.Token) || strings.Contains(log, old.Token) || strings.Contains(log, desk.Token[:20]) {
		t.Error("the log has a token")
	}
}

func TestWhereAnonymousCallersAreWantedAWrongTokenIsStillNone(t *testing.T) {
	t.Parallel()
	desk := newToken(t, "--client-id", "desk")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, allow_anonymous: true, auth: {tokens: [%s]}}\n", freePort(t), desk.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	for _, with := range []headers{{}, desk.header()} {
		s := h.connectWith(with, "", nil)
		lists(t, s, "echo_echo", true)
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_count"}); err != nil {
			t.Error(err)
		}
	}
	if got := principals(t, dir, 2); !slices.Equal(got, []string{"anonymous", `["desk","",""]`}) {
		t.Errorf("the ledger has calls of %q", got)
	}
	if status, challenge, _, _ := h.refusal(t, h.url, headers{"Authorization": "Bearer twh_x"}); status != 401 || !strings.Contains(challenge, "invalid_token") {
		t.Errorf("a wrong token: %d %q", status, challenge)
	}
	// Who has not proven who it is may still not come from elsewhere.
	if status, _, code, _ := h.refusal(t, h.url, headers{"X-Forwarded-For": "203.0.113.7"}); status != 403 || code != "non-local-client" {
		t.Errorf("from elsewhere: %d %s", status, code)
	}
}

func TestAHostThatOtherMachinesReachServesTokensAndSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	desk := newToken(t, "--client-id", "desk")
	_, port, _ := strings.Cut(freePort(t), ":")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: \"0.0.0.0:%s\", allowed_hosts: [0.0.0.0], auth: {tokens: [%s]}}\n", port, desk.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	if !strings.Contains(h.stderr.String(), "NO TLS") {
		t.Error("nothing is said of TLS")
	}
	h.url = "http://127.0.0.1:" + port + "/mcp"
	lists(t, h.connectWith(desk.header(), "", nil), "echo_echo", true)
	if status, _, code, _ := h.refusal(t, h.url, nil); status != 401 || code != "unauthorized" {
		t.Errorf("no token: %d %s", status, code)
	}
	foreign := desk.header()
	foreign["Origin"] = "https://evil.example"
	if status, _, code, _ := h.refusal(t, h.url, foreign); status != 403 || code != "origin-not-allowed" {
		t.Errorf("from a page: %d %s", status, code)
	}
}

func TestTheExamplesOfTheAuthPageWorkAsTheyStandThere(t *testing.T) {
	t.Parallel()
	page := "../../docs/auth.md"
	commands := commandsOf(t, page)
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(raw), "```yaml\n")[1:]
	if len(commands) < 2 || len(blocks) < 3 {
		t.Fatalf("found only %q and %q", commands, blocks)
	}
	for _, command := range commands {
		if stdout, stderr, code := run(t, t.TempDir(), strings.Fields(command)[1:]...); code != 0 || !strings.Contains(stdout, "twh_") {
			t.Errorf("%s: exit %d: %s", command, code, stderr)
		}
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := run(t, dir, "validate"); code != 0 {
			t.Errorf("exit %d: %s\n%s", code, stderr, block)
		}
	}
}
