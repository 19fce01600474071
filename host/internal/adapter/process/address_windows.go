// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"net/netip"
)

// acceptable: a socket, or a port of the loopback interface, where the
// certificate of the handshake says who serves.
func (p *Process) acceptable(network, address string) error {
	if network == "unix" {
		return p.socket(address)
	}
	if addr, err := netip.ParseAddrPort(address); network != "tcp" || err != nil || !addr.Addr().IsLoopback() {
		return &AddressError{network, address, "only a unix socket or a loopback address is accepted"}
	}
	return nil
}
