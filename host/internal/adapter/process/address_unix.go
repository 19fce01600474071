//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

// acceptable: sockets only. A TCP port could be anybody's.
func (p *Process) acceptable(network, address string) error {
	if network != "unix" {
		return &AddressError{network, address, "only a unix socket is accepted"}
	}
	return p.socket(address)
}
