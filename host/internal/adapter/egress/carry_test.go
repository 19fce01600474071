// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestBytesGoBothWays(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	g := open(t, Config{Grants: []string{at.String()}})
	conn, from := connected(t, g, at.String())
	text := strings.Repeat("0123456789abcdef", 1<<16)
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.CloseWrite()
	}()
	got, err := io.ReadAll(from)
	if err != nil || string(got) != text {
		t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
	}
	until(t, "the connection is over", func() bool { return g.Counts().Open == 0 })
	if c, want := g.Counts(), (Counts{Opened: 1, Sent: 1 << 20, Received: 1 << 20}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}

func TestWhatIsSaidBeforeTheAnswerIsNotLost(t *testing.T) {
	at := remote(t, "127.0.0.1:0", func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "220 ahoy ")
		echo(conn)
	})
	g := open(t, Config{Grants: []string{at.String()}})
	conn, from, answer := through(t, g, at.String(), "early ")
	if answer != "200 OK" {
		t.Fatal(answer)
	}
	_, _ = io.WriteString(conn, "late")
	_ = conn.CloseWrite()
	if got, err := io.ReadAll(from); string(got) != "220 ahoy early late" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheEndOfOneDirectionLeavesTheOther(t *testing.T) {
	t.Run("the adapter ends first", func(t *testing.T) {
		at := remote(t, "127.0.0.1:0", func(conn *net.TCPConn) {
			heard, _ := io.ReadAll(conn)
			fmt.Fprintf(conn, "heard %s", heard)
		})
		g := open(t, Config{Grants: []string{at.String()}})
		conn, from := connected(t, g, at.String())
		_, _ = io.WriteString(conn, "a question")
		_ = conn.CloseWrite()
		if got, err := io.ReadAll(from); string(got) != "heard a question" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("the remote ends first", func(t *testing.T) {
		heard := make(chan string, 1)
		at := remote(t, "127.0.0.1:0", func(conn *net.TCPConn) {
			_, _ = io.WriteString(conn, "bye")
			_ = conn.CloseWrite()
			all, _ := io.ReadAll(conn)
			heard <- string(all)
		})
		g := open(t, Config{Grants: []string{at.String()}})
		conn, from := connected(t, g, at.String())
		if got, err := io.ReadAll(from); string(got) != "bye" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		_, _ = io.WriteString(conn, "one more thing")
		_ = conn.Close()
		if got := <-heard; got != "one more thing" {
			t.Errorf("%q", got)
		}
	})
}

// silent is a remote that says nothing, and tells how its connections end.
func silent(t *testing.T) (address string, ends <-chan error) {
	t.Helper()
	over := make(chan error, 100)
	at := remote(t, "127.0.0.1:0", func(conn *net.TCPConn) {
		_, err := io.Copy(io.Discard, conn)
		over <- err
		_, err = io.Copy(io.Discard, conn) // it does not end its own direction either
		over <- err
		<-t.Context().Done()
	})
	return at.String(), over
}

func TestAConnectionHasItsTime(t *testing.T) {
	for name, limits := range map[string]Limits{
		"nothing goes either way": {Idle: 20 * time.Millisecond},
		"it is old":               {Life: 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			to, ends := silent(t)
			g := open(t, Config{Grants: []string{to}, Limits: limits})
			_, from := connected(t, g, to)
			if _, err := io.ReadAll(from); err != nil {
				t.Error(err)
			}
			if err := <-ends; err == nil {
				t.Error("to the remote, what was cut off looks complete")
			}
			until(t, "its place is free", func() bool { return g.Counts().Open == 0 })
		})
	}
	t.Run("the adapter has gone, and the remote does not care", func(t *testing.T) {
		to, ends := silent(t)
		g := open(t, Config{Grants: []string{to}, Limits: Limits{Ended: 20 * time.Millisecond}})
		conn, _ := connected(t, g, to)
		_ = conn.Close()
		if err := <-ends; err != nil && !isReset(err) {
			t.Error(err)
		}
		until(t, "its place is free", func() bool { return g.Counts().Open == 0 })
	})
}

func TestAConnectionThatIsUsedStays(t *testing.T) {
	at := remote(t, "127.0.0.1:0", echo)
	const idle, head = time.Second, time.Second
	g := open(t, Config{Grants: []string{at.String()}, Limits: Limits{Idle: idle, Head: head}})
	conn, from := connected(t, g, at.String())
	for began := time.Now(); time.Since(began) < head+idle; time.Sleep(10 * time.Millisecond) {
		if _, err := conn.Write([]byte{'x'}); err != nil {
			t.Fatal(err)
		}
		if b, err := from.ReadByte(); b != 'x' || err != nil {
			t.Fatalf("%q, %v", b, err)
		}
	}
}

// One who does not read holds its place no longer than one who says nothing.
func TestAConnectionThatIsNotReadIsIdle(t *testing.T) {
	at := remote(t, "127.0.0.1:0", func(conn *net.TCPConn) {
		for _, err := conn.Write(make([]byte, 1<<20)); err == nil; {
			_, err = conn.Write(make([]byte, 1<<20))
		}
	})
	g := open(t, Config{Grants: []string{at.String()}, Limits: Limits{Idle: 50 * time.Millisecond}})
	connected(t, g, at.String())
	until(t, "its place is free", func() bool { return g.Counts().Open == 0 })
}

func TestAResetEndsBothSides(t *testing.T) {
	at := remote(t, "127.0.0.1:0", func(conn *net.TCPConn) {
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.SetLinger(0)
	})
	g := open(t, Config{Grants: []string{at.String()}})
	conn, from := connected(t, g, at.String())
	_, _ = conn.Write([]byte("x"))
	if got, err := io.ReadAll(from); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	until(t, "its place is free", func() bool { return g.Counts().Open == 0 })
}
