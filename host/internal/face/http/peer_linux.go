// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ownPeer reports whether the process at the other end of a loopback connection
// runs as the host's user. It asks the kernel about that one socket; where it
// cannot, it looks through all of them in /proc/net (proc(5)). A socket that is
// closed is nobody's: whose it was cannot be told, and a request that nobody
// waits for can still have effects.
func ownPeer(remote, local net.Addr) (bool, error) {
	client, err := endpoint(remote)
	if err != nil {
		return false, err
	}
	server, err := endpoint(local)
	if err != nil {
		return false, err
	}
	// ENOENT is a socket that is not there, or a kernel without tcp_diag.
	if uid, err := ownerByDiag(client, server); err == nil || errors.Is(err, errNoOwner) {
		return uid == os.Geteuid() && err == nil, err
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		uid, found, err := ownerIn(table, client, server)
		if err != nil {
			return false, err
		}
		if found {
			return uid == os.Geteuid(), nil
		}
	}
	return false, errNoOwner
}

func endpoint(a net.Addr) (netip.AddrPort, error) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%s is no TCP address", a)
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port()), nil
}

// ownerIn finds the socket whose own end is client and whose other end is
// server.
func ownerIn(table string, client, server netip.AddrPort) (uid int, found bool, err error) {
	f, err := os.Open(table)
	if errors.Is(err, os.ErrNotExist) { // no IPv6
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("owners of sockets: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Scan() // the header
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[9] == "0" { // no inode: no process has it open
			continue
		}
		if own, ok := parseEndpoint(fields[1]); !ok || own != client {
			continue
		}
		if other, ok := parseEndpoint(fields[2]); !ok || other != server {
			continue
		}
		uid, err := strconv.Atoi(fields[7])
		if err != nil {
			return 0, false, fmt.Errorf("owners of sockets: %w", err)
		}
		return uid, true, nil
	}
	if err := lines.Err(); err != nil {
		return 0, false, fmt.Errorf("owners of sockets: %w", err)
	}
	return 0, false, nil
}

// parseEndpoint reads "0100007F:1F90": words of four bytes in the machine's
// order, and the port.
func parseEndpoint(s string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(s, ":")
	if !ok || len(host) != 8 && len(host) != 32 {
		return netip.AddrPort{}, false
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, false
	}
	raw := make([]byte, 0, 16)
	for i := 0; i < len(host); i += 8 {
		word, err := strconv.ParseUint(host[i:i+8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, false
		}
		raw = binary.NativeEndian.AppendUint32(raw, uint32(word))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok
}
