// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

// mute is a server of names that never answers. A lookup does not end with its context,
// only with its connection.
func mute(t *testing.T) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over, end := context.WithCancel(context.Background())
	t.Cleanup(func() {
		end()
		_ = pc.Close()
	})
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(over, "udp", pc.LocalAddr().String())
		if err == nil {
			context.AfterFunc(over, func() { _ = conn.Close() })
		}
		return conn, err
	}}
}

func addrs(all ...string) []netip.Addr {
	list := make([]netip.Addr, len(all))
	for i, a := range all {
		list[i] = netip.MustParseAddr(a)
	}
	return list
}

// Names lead where whoever answers for them likes. Loopback stands here for what may
// be reached, since it is granted as an address.
func TestWhereANameLeadsIsJudged(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().(*net.TCPAddr).AddrPort()
	_ = l.Close()
	names := map[string][]netip.Addr{
		"good.example":     addrs("127.0.0.1"),
		"loopback.example": addrs("127.0.0.9"),
		"private.example":  addrs("10.0.0.1"),
		"cloud.example":    addrs("169.254.169.254"),
		"zero.example":     addrs("0.0.0.0"),
		"mixed.example":    addrs("169.254.169.254", "10.0.0.1", "127.0.0.1"),
		"nothing.example":  {},
	}
	gone := fmt.Sprintf("gone.example:%d", nobody.Port())
	resolver := dns(t, func(name string) []netip.Addr {
		if name == "gone.example" {
			return addrs("169.254.169.254", "127.0.0.1")
		}
		return names[name]
	})
	grants := []string{gone}
	for name := range names {
		grants = append(grants, fmt.Sprintf("%s:%d", name, at.Port()))
	}
	grants = append(grants, at.String(), nobody.String(), fmt.Sprintf("absent.example:%d", at.Port()))
	var log journal
	g := open(t, Config{Grants: grants, Resolver: resolver, Log: log.logger()})
	for name, want := range map[string]string{
		"good.example":     "200 OK",
		"mixed.example":    "200 OK",
		"loopback.example": "403 Forbidden: loopback.example:%d: the name leads to this machine; to reach that, grant the address, or localhost",
		"private.example":  "403 Forbidden: private.example:%d: the name leads to a private address; to reach that, grant the address too, or let names lead there",
		"cloud.example":    "403 Forbidden: cloud.example:%d: the address is link-local, which no adapter may reach",
		"zero.example":     "403 Forbidden: zero.example:%d: the address is unspecified, which no adapter may reach",
		"absent.example":   "502 Bad Gateway: the name of absent.example:%d does not exist",
		"nothing.example":  "502 Bad Gateway: the name of nothing.example:%d does not exist",
	} {
		if strings.Contains(want, "%d") {
			want = fmt.Sprintf(want, at.Port())
		}
		if _, _, answer := through(t, g, fmt.Sprintf("%s:%d", name, at.Port()), ""); answer != want {
			t.Errorf("%s: %s, want %s", name, answer, want)
		}
	}
	for _, to := range []string{nobody.String(), gone} {
		want := fmt.Sprintf("502 Bad Gateway: %s cannot be reached: connection refused", to)
		if _, _, answer := through(t, g, to, ""); answer != want {
			t.Errorf("%s, want %s", answer, want)
		}
	}
	if c := g.Counts(); c.Opened != 2 || c.Refused != 4 || c.Failed != 4 {
		t.Errorf("%+v", c)
	}
	// The operator is told the address, the adapter is not.
	if !strings.Contains(log.String(), "detail=169.254.169.254") {
		t.Error(log.String())
	}
}

func TestANameIsResolvedOnce(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	var asked atomic.Int32
	resolver := dns(t, func(name string) []netip.Addr {
		if name != "rebind.example" {
			return nil
		}
		if asked.Add(1)%2 == 1 {
			return addrs("127.0.0.1")
		}
		return addrs("169.254.169.254")
	})
	name := fmt.Sprintf("rebind.example:%d", at.Port())
	g := open(t, Config{Grants: []string{name, at.String()}, Resolver: resolver})
	for i, want := range []string{"200 OK", "403 Forbidden: " + name + ": the address is link-local, which no adapter may reach", "200 OK"} {
		if _, _, answer := through(t, g, name, ""); answer != want {
			t.Errorf("%d: %s, want %s", i, answer, want)
		}
		if n := asked.Load(); n != int32(i+1) {
			t.Errorf("after %d connections it was asked %d times", i+1, n)
		}
	}
}

// The first addresses lead nowhere; the one that answers is taken.
func TestOneAddressOfSeveralIsEnough(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	resolver := dns(t, func(string) []netip.Addr { return addrs("127.0.0.8", "127.0.0.9", "127.0.0.1") })
	name := fmt.Sprintf("three.example:%d", at.Port())
	grants := []string{name, at.String(), fmt.Sprintf("127.0.0.8:%d", at.Port()), fmt.Sprintf("127.0.0.9:%d", at.Port())}
	g := open(t, Config{Grants: grants, Resolver: resolver})
	conn, from := connected(t, g, name)
	_, _ = io.WriteString(conn, "x")
	if b, err := from.ReadByte(); b != 'x' || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestWhoeverDoesNotAnswerIsGivenUp(t *testing.T) {
	g := open(t, Config{Grants: []string{"slow.example:1"}, Resolver: mute(t), Limits: Limits{Dial: 20 * time.Millisecond}})
	want := "504 Gateway Timeout: slow.example:1 has not answered within 20ms"
	if _, _, answer := through(t, g, "slow.example:1", ""); answer != want {
		t.Errorf("%s, want %s", answer, want)
	}
	if c := g.Counts(); c.Failed != 1 || c.Refused != 0 {
		t.Errorf("%+v", c)
	}
}
