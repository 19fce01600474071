// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host"
)

// dir has a folder plugins with the plugin hello in it.
var dir string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "embed-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "build", "-C", "../examples", "-o", filepath.Join(dir, "plugins", "hello"), "./hello")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build.Args, err, out)
		return 1
	}
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); code == 0 && err != nil { // an embedded host leaves nothing behind
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func ExampleOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h, err := host.Open(ctx, host.Config{YAML: `plugins: {dirs: [plugins], builtin: false}`, Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, h.Transport(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "hello_greet", Arguments: map[string]any{"name": "Ann"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.StructuredContent)
	// Output: map[result:Hello, Ann!]
}

func open(t *testing.T, yaml string) *host.Host {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := &bytes.Buffer{}
	h, err := host.Open(ctx, host.Config{
		YAML: fmt.Sprintf("state: %q\nplugins: {dirs: [plugins], builtin: false}\n", t.TempDir()) + yaml, Dir: dir, Version: "7", Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(log)
		}
	})
	return h
}

func connect(t *testing.T, transport mcp.Transport, protocol string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func greets(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello_greet", Arguments: map[string]any{"name": "Ann"}})
	if err != nil || r.IsError {
		t.Fatalf("%v, %+v", err, r)
	}
	if got := fmt.Sprint(r.StructuredContent); got != "map[result:Hello, Ann!]" {
		t.Errorf("it says %s", got)
	}
}

func TestAProgramServesMCPFromItsOwnServerAndWithinItself(t *testing.T) {
	h := open(t, "")
	mux := http.NewServeMux()
	mux.Handle("/tools/mcp", h.Handler())
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, protocol := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(protocol, func(t *testing.T) {
			greets(t, connect(t, &mcp.StreamableClientTransport{Endpoint: server.URL + "/tools/mcp", DisableStandaloneSSE: true}, protocol))
			one, two := connect(t, h.Transport(), protocol), connect(t, h.Transport(), protocol)
			greets(t, one)
			greets(t, two)
			if got := one.InitializeResult(); got != nil && got.ServerInfo.Version != "7" {
				t.Errorf("%+v", got.ServerInfo)
			}
		})
	}
	if faults := h.Faults(); len(faults) != 0 {
		t.Errorf("at fault: %q", faults)
	}
}

func TestTheHandlerLetsInWhomTheConfigurationLetsIn(t *testing.T) {
	status := func(h *host.Host, change func(*http.Request)) string {
		t.Helper()
		server := httptest.NewServer(h.Handler())
		defer server.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
		change(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var body bytes.Buffer
		_, _ = body.ReadFrom(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", body.String())
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	anonymous := open(t, "")
	const token = "twh_of_this_test"
	tokens := open(t, fmt.Sprintf("http: {auth: {tokens: [{sha256: %x, client_id: desk}]}}\n", sha256.Sum256([]byte(token))))
	for name, k := range map[string]struct {
		host   *host.Host
		change func(*http.Request)
		want   string
	}{
		"a client of this user":        {anonymous, func(*http.Request) {}, "200 "},
		"a page elsewhere":             {anonymous, header("Origin", "https://evil.example"), "403 {\"error\":\"origin-not-allowed\""},
		"a name that was made to lead": {anonymous, func(r *http.Request) { r.Host = "evil.example" }, "403 {\"error\":\"host-not-allowed\""},
		"through a proxy":              {anonymous, header("X-Forwarded-For", "10.0.0.1"), "403 {\"error\":\"non-local-client\""},
		"without a token":              {tokens, func(*http.Request) {}, "401 "},
		"with its token":               {tokens, header("Authorization", "Bearer "+token), "200 "},
		"with another token":           {tokens, header("Authorization", "Bearer nothing"), "401 "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := status(k.host, k.change); !strings.HasPrefix(got, k.want) {
				t.Errorf("answered %s, want %s", got, k.want)
			}
		})
	}
}

func TestWhereToGetATokenIsForTheProgramToSay(t *testing.T) {
	h := open(t, "http: {public_url: 'https://tools.example.com', auth: {issuer: 'http://127.0.0.1:1', audience: x, step_up: true}}\n")
	server := httptest.NewServer(h.Handler())
	defer server.Close()
	resp, err := http.Post(server.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	// A URL at which nothing is would keep clients from looking where it is.
	if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != http.StatusUnauthorized || got != `Bearer realm="toolwharf"` {
		t.Errorf("%s %s", resp.Status, got)
	}
}

func TestAConfigurationThatIsAtFaultSaysAllOfItAtOnce(t *testing.T) {
	_, err := host.Open(t.Context(), host.Config{YAML: "adapters: 7\nharbour: x\n", Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "adapters") || !strings.Contains(err.Error(), "harbour") {
		t.Errorf("%v", err)
	}
}

func TestAnAdapterThatIsAtFaultLeavesTheOthersServing(t *testing.T) {
	h := open(t, "adapters: {absent: {plugin: absent}}\n")
	greets(t, connect(t, h.Transport(), ""))
	if faults := h.Faults(); len(faults) != 1 || !strings.Contains(faults[0], "absent") {
		t.Errorf("at fault: %q", faults)
	}
}

func TestWhatIsConnectedEndsWithTheHost(t *testing.T) {
	h := open(t, "")
	s := connect(t, h.Transport(), "2026-07-28")
	greets(t, s)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello_greet"}); err == nil {
		t.Error("it is answered")
	}
}
