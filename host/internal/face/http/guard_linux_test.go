// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if address := os.Getenv("GUARD_TEST_GET"); address != "" { // another user's client
		resp, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, _ = io.Copy(os.Stdout, resp.Body)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestTheGuardJudgesPeerProxyHostAndOrigin(t *testing.T) {
	closed := newGuard(Config{AllowedHosts: []string{"Wharf.example"}, AllowedOrigins: []string{"https://app.example/"}, Log: slog.New(slog.DiscardHandler)}, true)
	open := newGuard(Config{AllowedHosts: []string{"wharf.example"}, Anonymous: true, Log: slog.New(slog.DiscardHandler)}, false)
	anonymousButLocal := newGuard(Config{Anonymous: true, Log: slog.New(slog.DiscardHandler)}, true)
	authenticated := newGuard(Config{AllowedHosts: []string{"wharf.example"}, Authenticated: true, Log: slog.New(slog.DiscardHandler)}, false)
	authenticatedButLocal := newGuard(Config{Authenticated: true, Log: slog.New(slog.DiscardHandler)}, true)
	mine := func() (bool, error) { return true, nil }
	for name, c := range map[string]struct {
		g      *guard
		peer   string
		host   string
		header map[string]string
		owner  func() (bool, error)
		want   string
	}{
		"a client of this user":         {closed, "127.0.0.1:9", "127.0.0.1:8000", nil, mine, ""},
		"over IPv6":                     {closed, "[::1]:9", "[::1]:8000", nil, mine, ""},
		"over IPv4 in IPv6":             {closed, "[::ffff:127.0.0.1]:9", "localhost", nil, mine, ""},
		"by a name that is allowed":     {closed, "127.0.0.1:9", "wharf.example:8000", nil, mine, ""},
		"from another machine":          {closed, "10.0.0.1:9", "127.0.0.1:8000", nil, mine, "non-local-client"},
		"from nowhere":                  {closed, "", "127.0.0.1:8000", nil, mine, "non-local-client"},
		"through a proxy":               {closed, "127.0.0.1:9", "127.0.0.1", map[string]string{"X-Forwarded-For": "1.2.3.4"}, mine, "non-local-client"},
		"through a proxy, by RFC 7239":  {closed, "127.0.0.1:9", "127.0.0.1", map[string]string{"Forwarded": "for=1.2.3.4"}, mine, "non-local-client"},
		"through a proxy, any header":   {closed, "127.0.0.1:9", "127.0.0.1", map[string]string{"x-forwarded-anything": ""}, mine, "non-local-client"},
		"through a proxy that says so":  {closed, "127.0.0.1:9", "127.0.0.1", map[string]string{"Via": "1.1 edge"}, mine, "non-local-client"},
		"through nginx as many have it": {closed, "127.0.0.1:9", "127.0.0.1", map[string]string{"X-Real-IP": "1.2.3.4"}, mine, "non-local-client"},
		"of another user":               {closed, "127.0.0.1:9", "127.0.0.1", nil, func() (bool, error) { return false, nil }, "other-local-user"},
		"of a user who cannot be told":  {closed, "127.0.0.1:9", "127.0.0.1", nil, func() (bool, error) { return true, errors.New("x") }, "other-local-user"},
		"of a connection nobody knows":  {closed, "127.0.0.1:9", "127.0.0.1", nil, nil, "other-local-user"},
		"by a name made to lead here":   {closed, "127.0.0.1:9", "evil.example:8000", nil, mine, "host-not-allowed"},
		"by a name that begins alike":   {closed, "127.0.0.1:9", "localhost.evil.example", nil, mine, "host-not-allowed"},
		"by no name":                    {closed, "127.0.0.1:9", "", nil, mine, "host-not-allowed"},
		"from a page of this machine":   {closed, "127.0.0.1:9", "localhost", map[string]string{"Origin": "http://localhost:3000"}, mine, ""},
		"from a page that is allowed":   {closed, "127.0.0.1:9", "localhost", map[string]string{"Origin": "https://app.example"}, mine, ""},
		"from a page elsewhere":         {closed, "127.0.0.1:9", "localhost", map[string]string{"Origin": "https://evil.example"}, mine, "origin-not-allowed"},
		"from a page that begins alike": {closed, "127.0.0.1:9", "localhost", map[string]string{"Origin": "http://localhost.evil.example"}, mine, "origin-not-allowed"},
		"from a page of no origin":      {closed, "127.0.0.1:9", "localhost", map[string]string{"Origin": "null"}, mine, "origin-not-allowed"},
		"anonymous from elsewhere":      {open, "10.0.0.1:9", "wharf.example", map[string]string{"X-Forwarded-For": "1.2.3.4"}, nil, ""},
		"anonymous by another name":     {open, "10.0.0.1:9", "10.0.0.2:8000", nil, nil, "host-not-allowed"},
		"authenticated from elsewhere":  {authenticated, "10.0.0.1:9", "wharf.example", map[string]string{"X-Forwarded-For": "1.2.3.4"}, nil, ""},
		"authenticated by another name": {authenticated, "10.0.0.1:9", "evil.example", nil, nil, "host-not-allowed"},
		"authenticated from a page":     {authenticated, "10.0.0.1:9", "wharf.example", map[string]string{"Origin": "https://evil.example"}, nil, "origin-not-allowed"},
		"authenticated through a proxy": {authenticatedButLocal, "127.0.0.1:9", "localhost", map[string]string{"Forwarded": "for=x"}, nil, ""},
		"anonymous, loopback only":      {anonymousButLocal, "127.0.0.1:9", "localhost", map[string]string{"Forwarded": "for=x"}, mine, "non-local-client"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.RemoteAddr, r.Host = c.peer, c.host
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			if c.owner != nil {
				r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, c.owner))
			}
			reached := false
			w := httptest.NewRecorder()
			c.g.around(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true })).ServeHTTP(w, r)
			if reached != (c.want == "") {
				t.Errorf("reached: %v", reached)
			}
			if c.want == "" {
				return
			}
			var body refusal
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusForbidden || body.Error != c.want || body.Message == "" {
				t.Errorf("%d %s, should be 403 %s", w.Code, w.Body, c.want)
			}
		})
	}
}

// running is a server on a free port of the loopback interface.
func running(t *testing.T, c Config) *Server {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	c.MCPPath = "/mcp"
	if c.MCP == nil {
		c.MCP = http.NotFoundHandler()
	}
	if c.Ready == nil {
		c.Ready = func() Readiness { return Readiness{Ready: true} }
	}
	s, err := Listen(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

func TestRoutes(t *testing.T) {
	ready := Readiness{Faults: []string{"adapter x is waiting"}}
	s := running(t, Config{Ready: func() Readiness { return ready }})
	base := "http://" + s.Address().String()
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{"/healthz", 200, `{"status":"ok"}`},
		{"/readyz", 503, `{"status":"starting","faults":["adapter x is waiting"]}`},
		{"/v1/tools", 404, `{"error":"not-found","message":"there is nothing at /v1/tools; MCP is at /mcp"}`},
	} {
		if status, body := get(t, base+c.path); status != c.status || body != c.body {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	ready.Ready = true
	if status, _ := get(t, base+"/readyz"); status != 200 {
		t.Errorf("ready: %d", status)
	}
}

func TestIPv6LoopbackIsServedWhereThereIsOne(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("SKIPPED: no IPv6 here: %v", err)
	}
	_ = l.Close()
	s := running(t, Config{Listen: "[::1]:0"})
	if status, body := get(t, "http://"+s.Address().String()+"/healthz"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

func TestATakenPortIsSaidPlainly(t *testing.T) {
	s := running(t, Config{})
	_, err := Listen(t.Context(), Config{Listen: s.Address().String(), MCPPath: "/mcp", MCP: http.NotFoundHandler()})
	if err == nil || !strings.Contains(err.Error(), "is taken by another program") {
		t.Errorf("error is %v", err)
	}
}

func TestAClientOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can be another user for a moment")
	}
	s := running(t, Config{})
	// The test's own program lies where another user may not look: run a copy.
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "guard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_ = os.Chmod(dir, 0o755)
	if err := os.WriteFile(dir+"/client", self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), dir+"/client")
	cmd.Env, cmd.Dir = []string{"GUARD_TEST_GET=" + s.Address().String()}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"other-local-user"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// pair is a connection of this process with itself.
func pair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client, server
}

func TestBothWaysTellTheOwnerUntilItCloses(t *testing.T) {
	client, server := pair(t)
	from, _ := endpoint(client.LocalAddr())
	to, _ := endpoint(client.RemoteAddr())
	uid, err := ownerByDiag(from, to)
	if err != nil {
		t.Logf("no sock_diag here: %v", err)
	} else if uid != os.Geteuid() {
		t.Errorf("sock_diag says %d", uid)
	}
	if uid, found, err := ownerIn("/proc/net/tcp", from, to); err != nil || !found || uid != os.Geteuid() {
		t.Errorf("/proc/net/tcp says %d, %v, %v", uid, found, err)
	}
	if own, err := ownPeer(server.RemoteAddr(), server.LocalAddr()); err != nil || !own {
		t.Errorf("%v, %v", own, err)
	}
	_ = client.Close() // it stays in the kernel until the server closes too
	if uid, err := ownerByDiag(from, to); err == nil {
		t.Errorf("sock_diag says that a closed socket is of %d", uid)
	}
	if uid, found, err := ownerIn("/proc/net/tcp", from, to); found || err != nil {
		t.Errorf("/proc/net/tcp says that a closed socket is of %d, %v", uid, err)
	}
	if own, err := ownPeer(server.RemoteAddr(), server.LocalAddr()); own || err == nil {
		t.Errorf("of a closed socket: %v, %v", own, err)
	}
}

func TestAnAnswerOfTheKernelIsReadWithCare(t *testing.T) {
	client, server := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	good := make([]byte, diagTell)
	copy(good[4:], diagQuestion(client, server)[4:6])
	copy(good[nlHeader+4:], diagQuestion(client, server)[nlHeader+8:])
	good[diagUID], good[diagInode] = 7, 1
	if uid, err := diagAnswer(good, client, server); err != nil || uid != int(good[diagUID]) {
		t.Errorf("%d, %v", uid, err)
	}
	if _, err := diagAnswer(good, server, client); !errors.Is(err, errNoOwner) {
		t.Errorf("another socket's: %v", err)
	}
	for n := range diagTell {
		if _, err := diagAnswer(good[:n], client, server); err == nil {
			t.Errorf("%d bytes were enough", n)
		}
	}
}

func BenchmarkOwnPeer(b *testing.B) {
	_, server := pair(b)
	for b.Loop() {
		if own, err := ownPeer(server.RemoteAddr(), server.LocalAddr()); !own || err != nil {
			b.Fatal(own, err)
		}
	}
}

func TestShutdownFinishesARequestThatRuns(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	s := running(t, Config{MCP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		_, _ = io.WriteString(w, "finished")
	})})
	answered := make(chan string, 1)
	go func() {
		resp, err := http.Post("http://"+s.Address().String()+"/mcp", "application/json", nil)
		if err != nil {
			answered <- err.Error()
			return
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answered <- string(body)
	}()
	<-begun
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(t.Context()) }()
	close(finish)
	if got := <-answered; got != "finished" {
		t.Errorf("answer is %q", got)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

func TestParseEndpointReadsWhatTheKernelWrites(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000000000000000000001000000:0050": "[::1]:80",
		"0000000000000000FFFF00000100007F:0050": "127.0.0.1:80",
	} {
		got, ok := parseEndpoint(text)
		if !ok || got != netip.MustParseAddrPort(want) {
			t.Errorf("%s: %s, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", ":", "0100007F", "0100007:1F90", "0100007F:1F90F", "XX00007F:0050"} {
		if got, ok := parseEndpoint(text); ok {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	f.Add("0100007F:1F90")
	f.Fuzz(func(_ *testing.T, s string) { parseEndpoint(s) })
}
