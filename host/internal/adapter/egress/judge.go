// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// judge decides to which addresses connections may go.
type judge struct {
	granted grants
	own     func() []netip.AddrPort
	private bool
}

// why is why a connection to t may not go to an address; empty: it may. The host has
// resolved the address, and nobody will do so again.
func (j *judge) why(t target, at netip.AddrPort) string {
	addr := at.Addr().Unmap().WithZone("")
	reach, what := reachOf(addr)
	literal := j.granted[target{addr: addr, port: at.Port()}]
	switch {
	case reach == never:
		return fmt.Sprintf("the address is %s, which no adapter may reach", what)
	case j.isOwn(addr, at.Port()):
		return "the host itself listens there, and no adapter may reach it"
	case t.name == localhost && reach != machine:
		return "localhost leads away from this machine"
	case literal, t.name == localhost:
		return ""
	case reach == machine, isLocal(addr):
		return "the name leads to this machine; to reach that, grant the address, or localhost"
	case reach == private && !j.private:
		return "the name leads to a private address; to reach that, grant the address too, or let names lead there"
	}
	return ""
}

// isOwn reports whether the host listens there.
func (j *judge) isOwn(addr netip.Addr, port uint16) bool {
	if j.own == nil {
		return false
	}
	for _, own := range j.own() {
		if own.Port() != port {
			continue
		}
		listens := own.Addr().Unmap().WithZone("")
		for _, face := range faces(addr) {
			if face == listens || (!listens.IsValid() || listens.IsUnspecified()) && isLocal(face) {
				return true
			}
		}
	}
	return false
}

// isLocal reports whether an address is one of this machine: it is on an interface, or
// the kernel would send from the address itself, as it does where a route makes a
// whole range local. An address that cannot be told is one.
func isLocal(addr netip.Addr) bool {
	if addr.IsLoopback() {
		return true
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil || slices.ContainsFunc(interfaces, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap().WithZone("") == addr
	}) {
		return true
	}
	// Nothing is sent: a UDP socket is only told where it would send.
	probe, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 9)))
	if err != nil {
		return false // nor can it be connected to
	}
	defer probe.Close()
	from, ok := probe.LocalAddr().(*net.UDPAddr)
	return !ok || from.AddrPort().Addr().Unmap().WithZone("") == addr
}
