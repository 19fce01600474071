// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
)

// ways are how a benchmark connects: without the host, and through it.
func ways(b *testing.B, f func(*net.TCPConn), bench func(b *testing.B, dial func() net.Conn)) {
	at := remote(b, "127.0.0.1:0", f)
	name := fmt.Sprintf("localhost:%d", at.Port())
	g := open(b, Config{
		Grants: []string{at.String(), name},
		Own:    func() []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:8000")} },
	})
	ask := func(to string) func() net.Conn {
		return func() net.Conn {
			conn, err := net.Dial("unix", g.Path())
			if err != nil {
				b.Fatal(err)
			}
			fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", to)
			resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
			if err != nil || resp.StatusCode != http.StatusOK {
				b.Fatal(resp, err)
			}
			return conn
		}
	}
	b.Run("direct", func(b *testing.B) {
		bench(b, func() net.Conn {
			conn, err := net.Dial("tcp", at.String())
			if err != nil {
				b.Fatal(err)
			}
			return conn
		})
	})
	b.Run("address", func(b *testing.B) { bench(b, ask(at.String())) })
	b.Run("name", func(b *testing.B) { bench(b, ask(name)) })
}

// BenchmarkConnect connects, has one byte echoed and closes.
func BenchmarkConnect(b *testing.B) {
	ways(b, echo, func(b *testing.B, dial func() net.Conn) {
		b.ReportAllocs()
		for b.Loop() {
			conn := dial()
			roundTrip(b, conn, make([]byte, 1))
			_ = conn.Close()
		}
	})
}

// BenchmarkRoundTrip has a small message echoed on one connection.
func BenchmarkRoundTrip(b *testing.B) {
	ways(b, echo, func(b *testing.B, dial func() net.Conn) {
		b.ReportAllocs()
		conn := dial()
		defer conn.Close()
		message := make([]byte, 512)
		for b.Loop() {
			roundTrip(b, conn, message)
		}
	})
}

// BenchmarkDownload reads what a remote sends as fast as it can.
func BenchmarkDownload(b *testing.B) {
	flood := func(conn *net.TCPConn) {
		for block := make([]byte, 256<<10); ; {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	}
	ways(b, flood, func(b *testing.B, dial func() net.Conn) {
		conn := dial()
		defer conn.Close()
		const size = 1 << 20
		b.SetBytes(size)
		for b.Loop() {
			if _, err := io.CopyN(io.Discard, conn, size); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func roundTrip(b *testing.B, conn net.Conn, message []byte) {
	b.Helper()
	if _, err := conn.Write(message); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(conn, message); err != nil {
		b.Fatal(err)
	}
}
