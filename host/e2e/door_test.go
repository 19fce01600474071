// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// byHand connects to a host as a client that writes by hand, and writes.
func (h *host) byHand(text string) net.Conn {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	if err != nil {
		h.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	h.t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		h.t.Fatal(err)
	}
	return conn
}

// replied reads the answer of a connection.
func replied(t *testing.T, conn net.Conn) (status int, body string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func TestSlowAndLargeRequestsAreCutWhileOthersAreServed(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "http: {listen: \""+freePort(t)+"\", header_timeout: 500ms, body_timeout: 500ms, max_body: 64KiB, max_header: 16KiB}\n")
	install(t, "echo", plugins)
	h := serve(t, dir)
	const post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	slow := map[string]net.Conn{
		`408 {"error":"header-too-slow"`:  h.byHand("POST /mcp HTTP/1.1\r\nHost: loc"),
		`408 {"error":"body-too-slow"`:    h.byHand(post + "Content-Length: 100\r\n\r\n{\"jsonrpc\""),
		`413 {"error":"body-too-large"`:   h.byHand(post + "Content-Length: 100000\r\n\r\n{"),
		`431 {"error":"header-too-large"`: h.byHand("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 64<<10) + "\r\n\r\n"),
	}
	if a := h.caller().call(t.Context(), "echo_echo", `{"text":"meanwhile"}`); !a.ok() || a.text != "meanwhile" {
		t.Errorf("meanwhile: %s", a)
	}
	for want, conn := range slow {
		if status, body := replied(t, conn); !strings.HasPrefix(fmt.Sprint(status, " ", body), want) {
			t.Errorf("%d %s, want %s", status, body, want)
		}
	}
}

// mostMemory is what a host may occupy under any number of clients, in MiB; the
// race detector multiplies it.
func mostMemory() int {
	if raceEnabled {
		return 3000
	}
	return 300
}

func TestAThousandClientsAreServed(t *testing.T) {
	dir, plugins := workspace(t, "adapters: {echo: {plugin: echo, limits: {max_in_flight: 250}}}\n")
	install(t, "echo", plugins)
	h := serve(t, dir)
	c := h.caller()
	c.client.Transport = &http.Transport{MaxIdleConnsPerHost: 1000}
	defer c.client.CloseIdleConnections()
	var clients sync.WaitGroup
	wrong := make(chan string, 1000)
	for i := range 1000 {
		clients.Go(func() {
			for n := range 3 {
				text := fmt.Sprintf("%d of client %d", n, i)
				if a := c.call(t.Context(), "echo_echo", fmt.Sprintf(`{"text":%q}`, text)); !a.ok() || a.text != text {
					wrong <- a.String()
					return
				}
			}
		})
	}
	clients.Wait()
	close(wrong)
	if n := len(wrong); n > 0 {
		t.Errorf("%d clients were not served: %s", n, <-wrong)
	}
	if _, most := h.memory(); most > mostMemory() {
		t.Errorf("it took %d MiB", most)
	}
}

func TestUnderStressThousandsOfIdleConnectionsKeepNobodyOut(t *testing.T) {
	idle := soaked(2000, 10_000)
	if room := mayOpen(t) - 200; room < idle {
		t.Logf("NOTE: this process may open %d files only: %d idle connections instead of %d", room+200, room, idle)
		idle = room
	}
	dir, plugins := workspace(t, "http: {listen: \""+freePort(t)+"\", max_connections: 1500}\n")
	install(t, "echo", plugins)
	h := serve(t, dir)
	for i := range idle {
		text := "" // of half of them nothing comes, or half a header
		if i%2 == 0 {
			text = "GET /healthz HTTP/1.1\r\nHost: loc"
		}
		if i%4 == 0 {
			text += "alhost\r\n\r\n"
		}
		h.byHand(text)
	}
	c := h.caller()
	for i := range 20 {
		text := fmt.Sprint("call ", i)
		if a := c.call(t.Context(), "echo_echo", fmt.Sprintf(`{"text":%q}`, text)); !a.ok() || a.text != text {
			t.Errorf("%s", a)
		}
		c.client.CloseIdleConnections() // each on a new connection
	}
	if n := h.descriptors(); n > 1500+200 {
		t.Errorf("the host has %d descriptors open", n)
	}
	if _, most := h.memory(); most > mostMemory() {
		t.Errorf("it took %d MiB", most)
	}
}

// mayOpen is how many files this process may open.
func mayOpen(t *testing.T) int {
	t.Helper()
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	return int(min(l.Cur, 1<<20))
}

// page reads one page of the host, as a client on this machine.
func (h *host) page(path string, headers ...string) (status int, body string) {
	h.t.Helper()
	conn := h.byHand("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n")
	return replied(h.t, conn)
}

func TestMetricsShowWhatHasHappened(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "approval: deferred\nrules: [{confirm: [echo_numbers]}, {deny: [echo_fail]}]\n")
	install(t, "echo", plugins)
	h := serve(t, dir)
	c := h.caller()
	for tool, kind := range map[string]string{"echo_echo": "", "echo_numbers": "approval_pending"} {
		args := `{"text":"s3cret-argument"}`
		if kind != "" {
			args = `{"value":[1]}`
		}
		if a := c.call(t.Context(), tool, args); a.err != nil || a.kind != kind {
			t.Fatalf("%s: %s", tool, a)
		}
	}
	if status, _ := h.page("/mcp", "Origin: https://evil.example"); status != http.StatusForbidden {
		t.Errorf("a page from elsewhere: %d", status)
	}
	status, body := h.page("/metrics")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for _, want := range []string{
		`toolwharf_calls_total{adapter="echo",kind="",op="tool",outcome="ok",tool="echo_echo"} 1`,
		`toolwharf_calls_total{adapter="echo",kind="approval_pending",op="tool",outcome="pending",tool="echo_numbers"} 1`,
		`toolwharf_call_duration_seconds_count{adapter="echo",op="tool",outcome="ok"} 1`,
		`http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200",http_route="/mcp"} 2`,
		`toolwharf_http_refusals_total{reason="origin-not-allowed"} 1`,
		`toolwharf_approvals_pending 1`, `toolwharf_adapter_state{adapter="echo",state="ready"} 1`, `toolwharf_ready 1`,
		`toolwharf_ledger_lost_total 0`, `toolwharf_spool_waiting 0`, `toolwharf_disk_full 0`, `toolwharf_config_stale 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(body, "s3cret") || strings.Contains(body, "evil") || t.Failed() {
		t.Errorf("it shows\n%s", body)
	}
	if status, body := h.page("/metrics", "X-Forwarded-For: 10.1.2.3"); status != http.StatusForbidden {
		t.Errorf("through a proxy: %d %s", status, body)
	}
}

func TestMetricsAndFaultsAreForOperatorsAndForThisMachine(t *testing.T) {
	t.Parallel()
	ops, agent := newToken(t, "--client-id", "ops", "--scope", "toolwharf:operate"), newToken(t, "--client-id", "agent")
	dir, _ := workspace(t, fmt.Sprintf("adapters: {gone: {plugin: gone}}\nhttp: {listen: %q, auth: {tokens: [%s, %s]}}\n", freePort(t), ops.entry(), agent.entry()))
	h := serve(t, dir)
	const proxy = "X-Forwarded-For: 10.1.2.3"
	bearer := func(token string) string { return "Authorization: Bearer " + token }
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"near":                              {nil, http.StatusOK},
		"a proxy, for nobody":               {[]string{proxy}, http.StatusForbidden},
		"a proxy, for an agent":             {[]string{proxy, bearer(agent.Token)}, http.StatusForbidden},
		"a proxy, for a token of the scope": {[]string{proxy, bearer(ops.Token)}, http.StatusOK},
		"a proxy, for the operator":         {[]string{proxy, bearer(operatorToken(t, dir))}, http.StatusOK},
	} {
		if status, body := h.page("/metrics", c.headers...); status != c.status {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
		status, body := h.page("/readyz", c.headers...)
		if status != http.StatusOK || strings.Contains(body, "adapter gone") != (c.status == http.StatusOK) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestEachRequestHasALineInTheAccessLog(t *testing.T) {
	t.Parallel()
	desk := newToken(t, "--client-id", "desk", "--subject", "ada")
	dir, plugins := workspace(t, fmt.Sprintf("log: {access: true}\nhttp: {listen: %q, auth: {tokens: [%s]}}\n", freePort(t), desk.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	c := h.caller()
	id := int(c.last.Add(1))
	headers, body := modern(id, "tools/call", "echo_echo", `"name":"echo_echo","arguments":{"text":"s3cret-argument"}`)
	headers["Authorization"], headers["X-Request-Id"], headers["X-Other"] = "Bearer "+desk.Token, "r-1.a_B", "s3cret-header"
	if a := c.post(t.Context(), id, headers, body); !a.ok() {
		t.Fatal(a)
	}
	if status, _ := h.page("/mcp?s3cret=query", "X-Request-Id: \"s3cret\n"); status != http.StatusBadRequest && status != http.StatusUnauthorized {
		t.Errorf("%d", status)
	}
	if status, _ := h.page("/nothing/s3cret"); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
	if status, _ := h.page("/mcp", "Origin: https://s3cret.example"); status != http.StatusForbidden {
		t.Errorf("%d", status)
	}
	const access = "toolwharf.access"
	for _, part := range []string{
		`"id":"r-1.a_B","method":"POST","peer":"127.0.0.1:`, `"principal":"[\"desk\",\"\",\"ada\"]","route":"/mcp","status":200`,
		`"refused":"not-found","route":"/","status":404`, `"refused":"origin-not-allowed","route":"","status":403`, `"route":"/readyz","status":200`, `"id":"req_`,
	} {
		h.logs(access, "info", "request", part)
	}
	for line := range strings.Lines(h.stderr.String()) {
		if strings.Contains(line, access) && (strings.Contains(line, "s3cret") || strings.Contains(line, desk.Token)) {
			t.Errorf("the access log has %s", line)
		}
	}
}

func TestTheConfigurationOfTheProductionPageIsValid(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, block := range blocksOf(t, "../../docs/production.md", "yaml") {
		if strings.HasPrefix(block, "readinessProbe:") { // Kubernetes'
			continue
		}
		dir, _ := workspace(t, block)
		if stdout, stderr, code := run(t, dir, "validate"); code != 0 {
			t.Errorf("exit %d: %s%s\n%s", code, stdout, stderr, block)
		}
		tried++
	}
	if tried < 2 {
		t.Errorf("only %d blocks were found", tried)
	}
}

func TestTheLevelOfTheLogIsTheFilesUnlessTheCommandLineSaysOtherwise(t *testing.T) {
	t.Parallel()
	dir, _ := workspace(t, "log: {level: error}\n")
	h := serve(t, dir) // with --log-level debug
	h.logs("toolwharf", "info", "serving", "")
	quiet, _ := workspace(t, "log: {level: error, format: json}\nhttp: {listen: \""+freePort(t)+"\"}\n")
	cmd := exec.Command(toolwharf, "serve", "--stdio", "-c", quiet+"/toolwharf.yaml")
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil || out.Len() > 0 { // stdin is at its end
		t.Errorf("%v: %s", err, &out)
	}
}

func TestWhatIsRiskyIsWarnedOfAtTheStart(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	for warning, c := range map[string]struct{ yaml, shell string }{
		"no authentication: only this user's clients on this machine may call":            {"", ""},
		"approval.client_form: clients that can show a form decide about their own calls": {"approval: {mode: deferred, client_form: true}\n", ""},
		"state directory can be entered by others":                                        {"", `mkdir -m 755 "${3%/*}/.toolwharf"`},
		"fewer files may be open than http.max_connections needs":                         {"", "ulimit -n 1000"},
	} {
		t.Run(warning, func(t *testing.T) {
			if !strings.Contains(string(page), "| `"+warning+"` |") {
				t.Error("docs/production.md does not have it")
			}
			dir, _ := workspace(t, c.yaml)
			program := script(t, dir, "start", c.shell+"\nexec \"$TOOLWHARF_PROGRAM\" \"$@\"")
			h := serveWith(t, dir, program, "TOOLWHARF_PROGRAM="+toolwharf)
			if log := h.stderr.String(); !strings.Contains(log, `"@level":"warn","@message":"`+warning) {
				t.Errorf("the log is %s", log)
			}
		})
	}
}
