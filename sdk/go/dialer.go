// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// egressKey is the variable that names the host's socket for connections.
const egressKey = "TOOLWHARF_EGRESS"

// ContextDialer opens connections.
type ContextDialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer is how a plugin reaches what it has a [Connect] grant for. In the strict
// sandbox a plugin has no network: the host gives it a unix socket in TOOLWHARF_EGRESS
// that speaks HTTP CONNECT, resolves names itself and judges addresses. Elsewhere it is
// a [net.Dialer]. So give it to whatever opens connections:
//
//	http.Transport{DialContext: toolwharf.Dialer().DialContext}
//
// Through the socket only TCP goes ("tcp", "tcp4", "tcp6", which are the same then).
func Dialer() ContextDialer { return dialerFor(os.Getenv(egressKey)) }

func dialerFor(socket string) ContextDialer {
	if socket == "" {
		return new(net.Dialer)
	}
	return &egress{socket}
}

const (
	// egressTime is how long the host may take to connect when ctx says nothing.
	egressTime = 30 * time.Second
	// maxConnectAnswer bounds the host's answer to CONNECT, in bytes.
	maxConnectAnswer = 16 << 10
	// maxRefusal bounds what is quoted of it.
	maxRefusal = 512
)

// egress dials through the host.
type egress struct{ socket string }

// DialContext connects to a host and a port, and never by another way.
func (e *egress) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // rather than the deadline of the socket
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s through the host: %w", address, err)}
	}
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return fail(errors.New("only TCP goes that way"))
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "" || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fail(errors.New("not host:port"))
	}
	ctx, cancel := context.WithTimeout(ctx, egressTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", e.socket)
	if err != nil {
		return fail(err)
	}
	// What is read and written in the meantime ends with ctx.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	through, err := tunnelTo(conn, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return fail(err)
	}
	return through, nil
}

// tunnelTo asks the other end of conn for a way to the address (RFC 9110, 9.3.6).
func tunnelTo(conn net.Conn, address string) (net.Conn, error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address); err != nil {
		return nil, err
	}
	r := bufio.NewReader(&io.LimitedReader{R: conn, N: maxConnectAnswer})
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, fmt.Errorf("the host's answer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		return nil, fmt.Errorf("refused: %s %s", resp.Status, strings.TrimSpace(cut(string(why), maxRefusal)))
	}
	if n := r.Buffered(); n > 0 {
		// The other end has begun to speak already.
		early := make([]byte, n)
		_, _ = io.ReadFull(r, early) // it is there
		return &begun{conn, early}, nil
	}
	return conn, nil
}

// begun is a connection of which some bytes were read already.
type begun struct {
	net.Conn
	early []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.early) > 0 {
		n := copy(p, b.early)
		b.early = b.early[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}
