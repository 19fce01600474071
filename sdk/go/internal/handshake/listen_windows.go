// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build windows

package handshake

import (
	"fmt"
	"net"
	"strconv"
)

// Listen opens the first free port of the host's range, on the loopback
// address. Mutual TLS is what keeps others out.
func Listen(t Terms) (l net.Listener, clean func(), err error) {
	for port := t.MinPort; port <= t.MaxPort; port++ {
		l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return l, func() {}, nil
		}
	}
	return nil, nil, fmt.Errorf("no port from %d to %d is free: %w", t.MinPort, t.MaxPort, err)
}

// ListenAt opens a unix socket at a path of somebody's choice.
func ListenAt(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return l, nil
}
