// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// crowd bounds the connections of a listener. Quiet are those that have no
// request: new ones, also while they send the header of their first, and idle
// ones. When there are too many connections, the one that has been quiet for
// longest makes room, so that whoever holds connections open, or sends headers a
// byte at a time, keeps nobody out. Only when every connection has a request is a
// new one refused.
type crowd struct {
	net.Listener

	most, idle int
	refused    func(code string)

	mu    sync.Mutex
	count int
	quiet list.List // of *member; in front is who came to be quiet first
}

// member is one connection.
type member struct {
	net.Conn

	crowd *crowd
	// place is where it is among the quiet, nil if it is not; left: it is no
	// member any more. Both are the crowd's.
	place *list.Element
	left  bool

	// secret: what goes through it is TLS. asked: some of a request has come
	// that no handler has yet, late: the rest of it did not come in time.
	secret, asked, late atomic.Bool
}

// Accept returns the next connection that there is room for.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		m := &member{Conn: conn, crowd: c}
		if c.enter(m) {
			return m, nil
		}
		c.refused(tooManyConnections)
		_ = conn.SetDeadline(time.Now().Add(restTime)) // the client is told or gone
		_, _ = conn.Write(wire(http.StatusServiceUnavailable, tooManyConnections,
			"every connection that this host allows (http.max_connections) has a request; try again later"))
		_ = conn.Close()
	}
}

// enter reports whether there is room for one more, or made room.
func (c *crowd) enter(m *member) bool {
	c.mu.Lock()
	var gives *member
	if c.count >= c.most {
		if gives = c.longestQuiet(); gives == nil {
			c.mu.Unlock()
			return false
		}
	}
	c.count++
	m.place = c.quiet.PushBack(m)
	c.mu.Unlock()
	gives.giveWay()
	return true
}

// longestQuiet takes who has been quiet for longest out, nil if nobody is.
func (c *crowd) longestQuiet() *member {
	e := c.quiet.Front()
	if e == nil {
		return nil
	}
	m, _ := e.Value.(*member)
	c.part(m)
	return m
}

// part takes a connection out. Closing it is its caller's business.
func (c *crowd) part(m *member) {
	if m.left {
		return
	}
	m.left = true
	c.count--
	c.busy(m)
}

func (c *crowd) busy(m *member) {
	if m.place != nil {
		c.quiet.Remove(m.place)
		m.place = nil
	}
}

// giveWay closes a connection that others need more.
func (m *member) giveWay() {
	if m != nil {
		m.asked.Store(false) // it was not late, only slow
		_ = m.Close()
	}
}

// state follows what net/http says of a connection.
func (c *crowd) state(conn net.Conn, s http.ConnState) {
	m := memberOf(conn)
	if m == nil {
		return
	}
	var gives *member
	c.mu.Lock()
	switch {
	case m.left:
	case s == http.StateActive:
		c.busy(m)
	case s == http.StateIdle:
		m.asked.Store(false)
		m.late.Store(false)
		c.busy(m)
		m.place = c.quiet.PushBack(m)
		if c.quiet.Len() > c.idle {
			gives = c.longestQuiet()
		}
	}
	c.mu.Unlock()
	gives.giveWay()
}

func memberOf(conn net.Conn) *member {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	m, _ := conn.(*member)
	return m
}

type memberKey struct{}

// served says that a handler has the request of a connection.
func served(ctx context.Context) {
	if m, ok := ctx.Value(memberKey{}).(*member); ok {
		m.asked.Store(false)
	}
}

// firstOfTLS is the first byte of a TLS connection, and never of HTTP.
const firstOfTLS = 0x16

// Read reads, and remembers what became of it.
func (m *member) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	switch {
	case n > 0 && b[0] == firstOfTLS:
		m.secret.Store(true)
		fallthrough
	case n > 0:
		m.asked.Store(true)
	case errors.Is(err, os.ErrDeadlineExceeded):
		m.late.Store(true)
	}
	return n, err
}

// Write writes. What net/http says as text, before any handler has a request, is
// said in JSON.
func (m *member) Write(b []byte) (int, error) {
	said, code := inJSON(b)
	if code == "" {
		return m.Conn.Write(b)
	}
	m.asked.Store(false)
	m.crowd.refused(code)
	if _, err := m.Conn.Write(said); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite is for net/http, which closes in two steps so that the last answer
// arrives.
func (m *member) CloseWrite() error {
	if c, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// Close closes. A client that took too long to say what it wants is told so.
func (m *member) Close() error {
	m.crowd.mu.Lock()
	m.crowd.part(m)
	m.crowd.mu.Unlock()
	if m.asked.Swap(false) && m.late.Load() {
		m.crowd.refused(headerTooSlow)
		if !m.secret.Load() {
			_ = m.SetWriteDeadline(time.Now().Add(restTime)) // the client is told or gone
			_, _ = m.Conn.Write(wire(http.StatusRequestTimeout, headerTooSlow,
				"the header of the request took too long (http.header_timeout); send it faster"))
		}
	}
	return m.Conn.Close()
}
