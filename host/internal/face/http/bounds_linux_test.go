// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// said is one answer to what is written by hand.
type said struct {
	status int
	header http.Header
	refusal
}

// dial connects as a client that writes by hand.
func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say writes and reads one answer, which must be JSON.
func say(t *testing.T, conn net.Conn, text string) said {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return hear(t, conn)
}

func hear(t *testing.T, conn net.Conn) said {
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
	a := said{status: resp.StatusCode, header: resp.Header}
	if err := json.Unmarshal(raw, &a.refusal); err != nil {
		t.Errorf("%d %v: no JSON: %q", resp.StatusCode, resp.Header, raw)
	}
	return a
}

// closed reports whether the other end of a connection closes it.
func closed(conn net.Conn) error {
	_, err := io.Copy(io.Discard, conn)
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return err
	}
	return nil
}

// notes collects what is told from many goroutines.
type notes[T any] struct {
	mu  sync.Mutex
	all []T
}

func (n *notes[T]) add(v T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, v)
}

func (n *notes[T]) list() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]T{}, n.all...)
}

func TestWhatIsNoRequestOfThisHostIsRefusedInJSON(t *testing.T) {
	var refused notes[string]
	s := running(t, Config{Bounds: Bounds{Header: 8 << 10}, Refused: refused.add})
	for name, c := range map[string]struct {
		text   string
		status int
		code   string
	}{
		"a large header":         {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 431, headerTooLarge},
		"a line that is none":    {"hello\r\n\r\n", 400, badRequest},
		"two hosts":              {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400, badRequest},
		"a strange encoding":     {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, notSupported},
		"two lengths":            {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, badRequest},
		"a header with a secret": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nBad Header: s3cr3t\r\n\r\n", 400, badRequest},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, s)
			a := say(t, conn, c.text)
			if a.status != c.status || a.Error != c.code || a.Message == "" || a.header.Get("Content-Type") != "application/json" ||
				strings.Contains(a.Message, "s3cr3t") {
				t.Errorf("%+v", a)
			}
			if err := closed(conn); err != nil {
				t.Errorf("the connection stays open: %v", err)
			}
		})
	}
	if got := refused.list(); len(got) != 6 {
		t.Errorf("refusals told of: %v", got)
	}
}

func TestASlowHeaderIsCut(t *testing.T) {
	var refused notes[string]
	s := running(t, Config{Bounds: Bounds{HeaderTime: 100 * time.Millisecond}, Refused: refused.add})
	conn := dial(t, s)
	a := say(t, conn, "GET /healthz HTTP/1.1\r\nHost: loc")
	if a.status != http.StatusRequestTimeout || a.Error != headerTooSlow || a.Message == "" {
		t.Errorf("%+v", a)
	}
	if err := closed(conn); err != nil {
		t.Error(err)
	}
	again := dial(t, s) // the second request of a connection neither
	if a := say(t, again, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); a.status != http.StatusOK {
		t.Errorf("%+v", a)
	}
	if a := say(t, again, "GET /healthz HTTP/1.1\r\nHost: loc"); a.status != http.StatusRequestTimeout {
		t.Errorf("%+v", a)
	}
	if got := refused.list(); len(got) != 2 || got[0] != headerTooSlow {
		t.Errorf("refusals told of: %v", got)
	}
}

func TestAConnectionThatWaitsIsClosedWithoutAWord(t *testing.T) {
	s := running(t, Config{Bounds: Bounds{HeaderTime: 100 * time.Millisecond, IdleTime: 100 * time.Millisecond}})
	for name, first := range map[string]string{"a new one": "", "an idle one": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
		conn := dial(t, s)
		r := bufio.NewReader(conn)
		if first != "" {
			_, _ = io.WriteString(conn, first)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
	}
}

func TestASlowBodyEndsForWhoReadsItAndForWhoDoesNot(t *testing.T) {
	read := make(chan error, 2)
	s := running(t, Config{
		Bounds: Bounds{BodyTime: 100 * time.Millisecond},
		MCP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			read <- err
			refuse(w, http.StatusRequestTimeout, "body-too-slow", "x")
		}),
	})
	for path, want := range map[string]int{"/mcp": http.StatusRequestTimeout, "/nowhere": http.StatusNotFound} {
		for _, length := range []string{"Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"} {
			conn := dial(t, s)
			if a := say(t, conn, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+length); a.status != want {
				t.Errorf("%s: %+v", path, a)
			}
			if err := closed(conn); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	for range 2 {
		if err := <-read; err == nil {
			t.Error("the body came to an end")
		}
	}
}

func TestWhatTakesLongerThanABodyMayIsNotCancelled(t *testing.T) {
	const most = 50 * time.Millisecond
	s := running(t, Config{Bounds: Bounds{BodyTime: most}, MCP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
			refuse(w, http.StatusInternalServerError, "cancelled", "x")
		case <-time.After(4 * most):
			refuse(w, http.StatusOK, "fine", "x")
		}
	})})
	for _, text := range []string{"Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"} {
		if a := say(t, dial(t, s), "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"+text); a.Error != "fine" {
			t.Errorf("%+v", a)
		}
	}
}

func TestALargeBodyIsRefusedOnEveryRoute(t *testing.T) {
	got := make(chan error, 1)
	s := running(t, Config{Bounds: Bounds{Body: 10}, MCP: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		got <- err
	})})
	for _, path := range []string{"/mcp", "/healthz", "/nowhere"} {
		if a := say(t, dial(t, s), "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n12345678901"); a.status != http.StatusRequestEntityTooLarge ||
			a.Error != "body-too-large" {
			t.Errorf("%s: %+v", path, a)
		}
	}
	_, _ = io.WriteString(dial(t, s), "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n")
	if _, ok := errors.AsType[*http.MaxBytesError](<-got); !ok {
		t.Error("in chunks it came through")
	}
}

func TestWhoIsQuietMakesRoom(t *testing.T) {
	s := running(t, Config{Bounds: Bounds{Connections: 3}})
	quiet := make([]net.Conn, 3)
	for i := range quiet {
		quiet[i] = dial(t, s)
		if i == 1 { // in the middle of a header
			_, _ = io.WriteString(quiet[i], "GET /healthz HTTP/1.1\r\nHos")
		}
	}
	for range 2 {
		if a := say(t, dial(t, s), "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); a.status != http.StatusOK {
			t.Errorf("%+v", a)
		}
	}
	for i, c := range quiet[:2] {
		if err := closed(c); err != nil {
			t.Errorf("connection %d is open: %v", i, err)
		}
	}
}

func TestOfIdleConnectionsTheOldestIsClosed(t *testing.T) {
	s := running(t, Config{Bounds: Bounds{Idle: 2}})
	crowd, _ := s.listener.(*crowd)
	var all []net.Conn
	for i := range 3 {
		for waiting := 0; waiting < i; time.Sleep(time.Millisecond) { // each is idle before the next comes
			crowd.mu.Lock()
			waiting = crowd.quiet.Len()
			crowd.mu.Unlock()
		}
		conn := dial(t, s)
		all = append(all, conn)
		if a := say(t, conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); a.status != http.StatusOK {
			t.Fatalf("%+v", a)
		}
	}
	if err := closed(all[0]); err != nil {
		t.Errorf("the oldest is open: %v", err)
	}
	if a := say(t, all[2], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); a.status != http.StatusOK {
		t.Errorf("the youngest: %+v", a)
	}
}

// holding is a handler that holds requests until it is let go.
type holding struct {
	begun, leave chan struct{}
}

func (h holding) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h.begun <- struct{}{}
	<-h.leave
	answer(w, http.StatusOK, refusal{})
}

func TestWhenEveryConnectionHasARequestANewOneIsToldSo(t *testing.T) {
	h := holding{make(chan struct{}), make(chan struct{})}
	var refused notes[string]
	s := running(t, Config{Bounds: Bounds{Connections: 2}, MCP: h, Refused: refused.add})
	var busy []net.Conn
	for range 2 {
		conn := dial(t, s)
		busy = append(busy, conn)
		_, _ = io.WriteString(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
		<-h.begun
	}
	a := hear(t, dial(t, s))
	if a.status != http.StatusServiceUnavailable || a.Error != tooManyConnections {
		t.Errorf("%+v", a)
	}
	close(h.leave)
	for _, conn := range busy {
		if a := hear(t, conn); a.status != http.StatusOK {
			t.Errorf("%+v", a)
		}
	}
	if got := refused.list(); len(got) != 1 || got[0] != tooManyConnections {
		t.Errorf("refusals told of: %v", got)
	}
}

func TestAPrincipalHasNoMoreThanItsShareInFlight(t *testing.T) {
	h := holding{make(chan struct{}, 10), make(chan struct{})}
	var told notes[Exchange]
	s := running(t, Config{
		Bounds: Bounds{InFlight: 2}, MCP: h, Told: told.add,
		Identify: func(r *http.Request) (auth.Caller, *auth.Refusal) {
			name := r.Header.Get("X-Name")
			if name == "" {
				return auth.Caller{}, nil
			}
			return auth.Caller{Principal: tool.Principal{Kind: tool.Named, Subject: name}}, nil
		},
	})
	ask := func(name string) net.Conn {
		conn := dial(t, s)
		_, _ = io.WriteString(conn, "GET /mcp?token=s3cr3t HTTP/1.1\r\nHost: localhost\r\nX-Name: "+name+"\r\n\r\n")
		return conn
	}
	var served []net.Conn
	for _, name := range []string{"ada", "ada", "bob", "", "bob", ""} {
		served = append(served, ask(name))
		<-h.begun
	}
	for _, name := range []string{"ada", "bob", ""} {
		if a := hear(t, ask(name)); a.status != http.StatusTooManyRequests || a.Error != "too-many-requests" || a.header.Get("Retry-After") == "" {
			t.Errorf("%q: %+v", name, a)
		}
	}
	close(h.leave)
	for _, conn := range served {
		if a := hear(t, conn); a.status != http.StatusOK {
			t.Errorf("%+v", a)
		}
	}
	if a := hear(t, ask("ada")); a.status != http.StatusOK {
		t.Errorf("after they have ended: %+v", a)
	}
	for _, e := range told.list() {
		if text := fmt.Sprintf("%+v", e); e.Method != "GET" || e.Route != "/mcp" || e.Status == 0 || e.Bytes == 0 || e.Peer == "" || strings.Contains(text, "s3cr3t") {
			t.Errorf("told: %s", text)
		}
	}
	if n := len(told.list()); n != 10 {
		t.Errorf("told of %d requests", n)
	}
}

func FuzzInJSON(f *testing.F) {
	f.Add([]byte("HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n431"))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		given := bytes.Clone(b)
		said, code := inJSON(b)
		if !bytes.Equal(b, given) {
			t.Error("it was changed")
		}
		if code == "" {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(said)), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var r refusal
		if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || r.Error != code || !resp.Close {
			t.Errorf("%q", said)
		}
	})
}
