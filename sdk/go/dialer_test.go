// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package toolwharf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// egressSocket is a host's socket whose connections are served by f.
func egressSocket(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "twe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go f(conn)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// tunnel is what a host does: it judges, dials and copies.
func tunnel(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil || req.Method != http.MethodConnect || req.Host != req.URL.Host {
		fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		return
	}
	if strings.HasPrefix(req.Host, "forbidden.") {
		fmt.Fprint(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno grant\n")
		return
	}
	to, err := net.Dial("tcp", req.Host)
	if err != nil {
		fmt.Fprint(conn, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer to.Close()
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(to, conn) }()
	_, _ = io.Copy(conn, to)
}

func TestConnectionsGoThroughTheHost(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ahoy") }))
	defer web.Close()
	d := dialerFor(egressSocket(t, tunnel))
	transport := &http.Transport{DialContext: d.DialContext}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "ahoy" || err != nil {
		t.Errorf("%s %v", body, err)
	}
	for address, want := range map[string]string{
		"forbidden.example:1": "refused: 403 Forbidden no grant",
		"127.0.0.1:1":         "refused: 502 Bad Gateway",
		"a b:1":               "not host:port",
		"a:1\r\nX: y":         "not host:port",
		"a":                   "not host:port",
		":1":                  "not host:port",
	} {
		if _, err := d.DialContext(t.Context(), "tcp", address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", address, err, want)
		}
	}
	if _, err := d.DialContext(t.Context(), "udp", "a:1"); err == nil || !strings.Contains(err.Error(), "only TCP") {
		t.Errorf("got %v", err)
	}
	if _, err := dialerFor("/nowhere").DialContext(t.Context(), "tcp", web.Listener.Addr().String()); err == nil {
		t.Error("it went by another way")
	}
	if _, ok := dialerFor("").(*net.Dialer); !ok {
		t.Error("without a socket it is a net.Dialer")
	}
}

func TestAHostThatDoesNotAnswerIsGivenUp(t *testing.T) {
	begun := make(chan struct{})
	d := dialerFor(egressSocket(t, func(conn net.Conn) {
		close(begun)
		_, _ = io.Copy(io.Discard, conn)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := d.DialContext(ctx, "tcp", "a:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheHostsAnswerIsBounded(t *testing.T) {
	for name, answer := range map[string]string{
		"a long header": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxConnectAnswer) + "\r\n\r\n",
		"noise":         "SSH-2.0-OpenSSH\r\n\r\n",
		"nothing":       "",
	} {
		d := dialerFor(egressSocket(t, func(conn net.Conn) {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 1<<10))
			fmt.Fprint(conn, answer)
		}))
		if conn, err := d.DialContext(t.Context(), "tcp", "a:1"); err == nil {
			t.Errorf("%s: connected to %v", name, conn)
		}
	}
}

func TestWhatTheOtherEndSaysAtOnceIsNotLost(t *testing.T) {
	d := dialerFor(egressSocket(t, func(conn net.Conn) {
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 1<<10))
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n220 ahoy")
	}))
	conn, err := d.DialContext(t.Context(), "tcp", "a:1")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); string(got) != "220 ahoy" || err != nil {
		t.Errorf("%s %v", got, err)
	}
}

// saidConn is a connection that has said all that it says.
type saidConn struct {
	net.Conn
	answer *bytes.Reader
}

func (s *saidConn) Read(p []byte) (int, error)  { return s.answer.Read(p) }
func (s *saidConn) Write(p []byte) (int, error) { return len(p), nil }

func FuzzTheHostsAnswerToConnect(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\nearly"))
	f.Add([]byte("HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		conn, err := tunnelTo(&saidConn{answer: bytes.NewReader(answer)}, "a:1")
		if err != nil {
			if len(err.Error()) > 2*maxConnectAnswer {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
			return
		}
		if rest, err := io.ReadAll(conn); err != nil || !bytes.HasSuffix(answer, rest) {
			t.Errorf("%q %v", rest, err)
		}
	})
}

var _ ContextDialer = (*net.Dialer)(nil)
