// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
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
