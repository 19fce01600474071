// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
)

// trial is the attempt to reach one target. The dialer may try several addresses at
// once.
type trial struct {
	judge *judge
	to    target

	mu     sync.Mutex
	tried  bool   // an address that may be reached
	why    string // one may not
	detail string
}

// control is called between the resolution of an address and connect(2) on it.
func (t *trial) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	why := t.judge.why(t.to, at)
	t.mu.Lock()
	defer t.mu.Unlock()
	if why == "" {
		t.tried = true
		return nil
	}
	if t.why == "" {
		t.why, t.detail = why, at.Addr().String()
	}
	return errors.New(why)
}

// connect reaches a granted target, over whichever of its addresses answers.
func (g *Gate) connect(ctx context.Context, to target) (*net.TCPConn, *refusal) {
	t := &trial{judge: g.judge, to: to}
	d := net.Dialer{Timeout: g.limits.Dial, Resolver: g.config.Resolver, ControlContext: t.control}
	conn, err := d.DialContext(ctx, "tcp", to.String())
	if err == nil {
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			_ = conn.Close()
			return nil, refuse(http.StatusBadGateway, "not TCP")
		}
		return tcp, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why != "" && !t.tried {
		r := refuse(http.StatusForbidden, "%s: %s", to, t.why)
		r.detail = t.detail
		return nil, r
	}
	r := refuse(http.StatusBadGateway, "%s cannot be reached", to)
	r.detail = err.Error()
	var unknown *net.DNSError
	var number syscall.Errno
	var slow net.Error
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		r.why = fmt.Sprintf("the name of %s does not exist", to)
	case errors.As(err, &slow) && slow.Timeout():
		r.status, r.why = http.StatusGatewayTimeout, fmt.Sprintf("%s has not answered within %s", to, g.limits.Dial)
	case errors.As(err, &number):
		r.why += ": " + number.Error()
	}
	return nil, r
}
