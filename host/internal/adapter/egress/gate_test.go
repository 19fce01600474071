// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestOnlyWhatIsGrantedIsReached(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	other := remote(t, "127.0.0.1:0", func(*net.TCPConn) { t.Error("what is not granted was reached") })
	port := at.Port()
	g := open(t, Config{Grants: []string{fmt.Sprintf("LocalHost.:%d", port), fmt.Sprintf("[::ffff:127.0.0.1]:%d", port), fmt.Sprintf("bücher.example:%d", other.Port())}})
	no := func(to string) string { return "403 Forbidden: there is no connect grant for " + to }
	for to, want := range map[string]string{
		fmt.Sprintf("localhost:%d", port):         "200 OK",
		fmt.Sprintf("LOCALHOST.:%d", port):        "200 OK",
		fmt.Sprintf("127.0.0.1:%d", port):         "200 OK",
		fmt.Sprintf("[::ffff:7f00:1]:%d", port):   "200 OK",
		fmt.Sprintf("127.0.0.1:%d", other.Port()): no(other.String()),
		fmt.Sprintf("localhost:%d", other.Port()): no(fmt.Sprintf("localhost:%d", other.Port())),
		fmt.Sprintf("[::1]:%d", port):             no(fmt.Sprintf("[::1]:%d", port)),
		fmt.Sprintf("127.0.0.2:%d", port):         no(fmt.Sprintf("127.0.0.2:%d", port)),
		fmt.Sprintf("a.localhost:%d", port):       no(fmt.Sprintf("a.localhost:%d", port)),
		fmt.Sprintf("localhost.example:%d", port): no(fmt.Sprintf("localhost.example:%d", port)),
		fmt.Sprintf("127.1:%d", port):             "400 Bad Request: what to connect to: a name does not end in a number; an address has four numbers, or colons",
		"169.254.169.254:80":                      no("169.254.169.254:80"),
		"xn--bcher-kva.example:443":               no("xn--bcher-kva.example:443"),
		fmt.Sprintf("[fe80::1%%eth0]:%d", port):   "400 Bad Request: what to connect to: an address with a zone is on one link only",
	} {
		if _, _, answer := through(t, g, to, ""); answer != want {
			t.Errorf("%s: %s, want %s", to, answer, want)
		}
	}
	if c := g.Counts(); c.Opened != 4 || c.Refused != 10 || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsNoRequestIsAnswered(t *testing.T) {
	g := open(t, Config{})
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n": "HTTP/1.1 405 Method Not Allowed\r\n",
		"noise\r\n\r\n":                     "HTTP/1.1 405 Method Not Allowed\r\n",
		"\x16\x03\x01\r\n\r\n":              "HTTP/1.1 400 Bad Request\r\n",
		strings.Repeat("x", maxHead):        "HTTP/1.1 431 Request Header Fields Too Large\r\n",
	} {
		conn := raw(t, g)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%.20q: %q, %v", request, got, err)
		}
	}
	if c := g.Counts(); c.Refused != 4 {
		t.Errorf("%+v", c)
	}
}

func TestASilentRequestIsGivenUp(t *testing.T) {
	g := open(t, Config{Limits: Limits{Head: 20 * time.Millisecond}})
	conn := raw(t, g)
	_, _ = io.WriteString(conn, "CONNECT a.example:1 HT")
	if got, err := io.ReadAll(conn); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAStrangerIsNotHeard(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	var known atomic.Bool
	var log journal
	g := open(t, Config{Grants: []string{at.String()}, Log: log.logger(), Peer: func(conn *net.UnixConn) error {
		if conn.RemoteAddr() == nil || known.Load() {
			return nil
		}
		return errors.New("process 7 is nobody's")
	}})
	conn := raw(t, g)
	if got, err := io.ReadAll(conn); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if c := g.Counts(); c.Refused != 1 || c.Opened != 0 {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(log.String(), "process 7 is nobody's") {
		t.Error(log.String())
	}
	known.Store(true)
	connected(t, g, at.String())
}

func TestAnAdapterHasSoManyConnections(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	g := open(t, Config{Grants: []string{at.String()}, Limits: Limits{Conns: 2}})
	first, _ := connected(t, g, at.String())
	connected(t, g, at.String())
	want := "503 Service Unavailable: 2 connections are open, which is all that this adapter may have"
	if _, _, answer := through(t, g, at.String(), ""); answer != want {
		t.Errorf("%s, want %s", answer, want)
	}
	if c := g.Counts(); c.Open != 2 || c.Refused != 1 {
		t.Errorf("%+v", c)
	}
	_ = first.Close()
	until(t, "its place is free", func() bool { return g.Counts().Open == 1 })
	connected(t, g, at.String())
}

func TestThoseWhoSayNothingAreFewToo(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	g := open(t, Config{Grants: []string{at.String()}, Limits: Limits{Conns: 1, Head: time.Hour}})
	before := runtime.NumGoroutine()
	crowd := make([]*net.UnixConn, 4*waiting)
	for i := range crowd {
		crowd[i] = raw(t, g)
	}
	until(t, "the door is full", func() bool { return len(g.door) == cap(g.door) })
	if now := runtime.NumGoroutine(); cap(g.door) != 1+waiting || now > before+2*cap(g.door) {
		t.Errorf("%d are in, %d goroutines, before %d", cap(g.door), now, before)
	}
	for _, conn := range crowd {
		_ = conn.Close()
	}
	connected(t, g, at.String())
}

func TestWhereTheHostListensIsNotReached(t *testing.T) {
	reached := func(*net.TCPConn) { t.Error("the host's own listener was reached") }
	exact, wildcard := remote(t, "127.0.0.1:0", reached), remote(t, "0.0.0.0:0", reached)
	grants := []string{
		exact.String(), fmt.Sprintf("localhost:%d", exact.Port()), fmt.Sprintf("localhost:%d", wildcard.Port()),
		fmt.Sprintf("127.0.0.1:%d", wildcard.Port()), fmt.Sprintf("127.1.2.3:%d", wildcard.Port()),
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if a := netip.MustParsePrefix(i.String()).Addr(); a.Is4() && !a.IsLinkLocalUnicast() {
			grants = append(grants, netip.AddrPortFrom(a, wildcard.Port()).String())
		}
	}
	var listens atomic.Bool
	g := open(t, Config{Grants: grants, Own: func() []netip.AddrPort {
		listens.Store(true)
		return []netip.AddrPort{exact, wildcard}
	}})
	for _, to := range grants {
		want := fmt.Sprintf("403 Forbidden: %s: the host itself listens there, and no adapter may reach it", to)
		if _, _, answer := through(t, g, to, ""); answer != want && !strings.HasPrefix(to, "localhost") {
			t.Errorf("%s, want %s", answer, want)
		} else if !strings.HasPrefix(answer, "403 ") {
			t.Errorf("%s: %s", to, answer)
		}
	}
	if !listens.Load() {
		t.Error("nobody has asked where the host listens")
	}
}

func TestTheLogIsNotTheAdaptersToFill(t *testing.T) {
	var log journal
	g := open(t, Config{Log: log.logger()})
	for range 200 {
		through(t, g, "a.example:1", "")
	}
	g.says.pace.SetLimit(1e6)
	through(t, g, "b.example:1", "")
	lines := strings.Count(log.String(), "\n")
	if lines > 100 || !strings.Contains(log.String(), "to=a.example:1") || !strings.Contains(log.String(), "unsaid=") {
		t.Errorf("%d lines:\n%s", lines, log.String())
	}
}

func TestCloseEndsWhateverThereIs(t *testing.T) {
	to, ends := silent(t)
	g := open(t, Config{Grants: []string{to, "slow.example:1"}, Resolver: mute(t), Limits: Limits{Dial: time.Hour, Head: time.Hour}})
	open, from := connected(t, g, to)
	silent := raw(t, g)
	dialling := raw(t, g)
	_, _ = io.WriteString(dialling, "CONNECT slow.example:1 HTTP/1.1\r\nHost: slow.example:1\r\n\r\n")
	until(t, "all three are there", func() bool { return len(g.door) == 4 && g.Counts().Open == 2 })
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	for _, conn := range []io.Reader{from, open, silent, dialling} {
		if got, err := io.ReadAll(conn); len(got) != 0 || err != nil && !errors.Is(err, net.ErrClosed) && !isReset(err) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := <-ends; err == nil {
		t.Error("to the remote, what was cut off looks complete")
	}
	if _, err := os.Lstat(g.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("once more: %v", err)
	}
}

func TestTheSocketIsForTheOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode there")
	}
	g := open(t, Config{})
	info, err := os.Lstat(g.Path())
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%s, %v", info.Mode(), err)
	}
}

func TestAGateThatCannotBeOpened(t *testing.T) {
	there := open(t, Config{})
	for want, config := range map[string]Config{
		"address already in use": {Path: there.Path(), Peer: everybody},
		"no such file":           {Path: filepath.Join(t.TempDir(), "absent", "s"), Peer: everybody},
		"connect grant \"a\"":    {Path: socketPath(t), Peer: everybody, Grants: []string{"a"}},
		"nothing tells":          {Path: socketPath(t)},
	} {
		if g, err := Listen(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %s", g, err, want)
		}
	}
	connectable := raw(t, there)
	_ = connectable.Close()
}
