// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"
)

// bound is how long something may take that a busy machine does late.
const bound = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everybody is a peer.
func everybody(*net.UnixConn) error { return nil }

// journal is a log that is read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Output: j, Level: hclog.Debug})
}

// socketPath is a path that a socket may have.
func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "twe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "egress.sock")
}

// open opens a gate that is closed with the test.
func open(t testing.TB, config Config) *Gate {
	t.Helper()
	if config.Path == "" {
		config.Path = socketPath(t)
	}
	if config.Peer == nil {
		config.Peer = everybody
	}
	g, err := Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// raw is an adapter's connection to the gate's socket.
func raw(t testing.TB, g *Gate) *net.UnixConn {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: g.Path()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(bound))
	return conn
}

// through asks for a connection, and returns it with what was answered.
func through(t testing.TB, g *Gate, to, early string) (conn *net.UnixConn, from *bufio.Reader, answer string) {
	t.Helper()
	conn = raw(t, g)
	if _, err := fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n%[2]s", to, early); err != nil {
		t.Fatal(err)
	}
	from = bufio.NewReader(conn)
	resp, err := http.ReadResponse(from, &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK {
		return conn, from, resp.Status
	}
	why, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return conn, from, resp.Status + ": " + strings.TrimSpace(string(why))
}

// connected is a connection that is to be there.
func connected(t testing.TB, g *Gate, to string) (*net.UnixConn, *bufio.Reader) {
	t.Helper()
	conn, from, answer := through(t, g, to, "")
	if answer != "200 OK" {
		t.Fatalf("%s: %s", to, answer)
	}
	return conn, from
}

// remote is a TCP server, whose connections are served by f.
func remote(t testing.TB, address string, f func(*net.TCPConn)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				f(conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func echo(conn *net.TCPConn) { _, _ = io.Copy(conn, conn) }

// dns is a server of names, which leads them to the addresses that f says.
func dns(t *testing.T, f func(name string) []netip.Addr) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer, err := resolve(buf[:n], f); err == nil {
				_, _ = pc.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = pc.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func resolve(query []byte, f func(string) []netip.Addr) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	var addrs []netip.Addr
	if q.Type == dnsmessage.TypeA {
		addrs = f(strings.TrimSuffix(q.Name.String(), "."))
		if addrs == nil {
			m.RCode = dnsmessage.RCodeNameError
		}
	}
	for _, a := range addrs {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: a.As4()},
		})
	}
	return m.Pack()
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(bound); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%s: not within %s", what, bound)
		}
	}
}
