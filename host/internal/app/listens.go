// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net"
	"net/netip"
	"strconv"
)

// listens are the addresses on which a host of this configuration listens: to whoever
// connects there as the host's user, as the host itself does for an adapter, it may
// answer as to that user.
func (h *Host) listens() []netip.AddrPort {
	all := listensOn(h.config.HTTP.Listen)
	if at := h.listening.Load(); at != nil {
		all = append(all, *at)
	}
	return all
}

// listensOn are the addresses of a text, which may have a name that is this machine's.
// Of a port that is still to be chosen, nothing is known.
func listensOn(listen string) []netip.AddrPort {
	host, text, err := net.SplitHostPort(listen)
	port, failed := strconv.ParseUint(text, 10, 16)
	if err != nil || failed != nil || port == 0 {
		return nil
	}
	addr, err := netip.ParseAddr(host)
	if err != nil { // every address of this machine, whichever of them it means
		addr = netip.IPv6Unspecified()
	}
	return []netip.AddrPort{netip.AddrPortFrom(addr, uint16(port))}
}

// serveAt says where it listens.
func (h *Host) serveAt(at net.Addr) {
	if tcp, ok := at.(*net.TCPAddr); ok {
		where := netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), tcp.AddrPort().Port())
		h.listening.Store(&where)
	}
}
