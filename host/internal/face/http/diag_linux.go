// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// errNoOwner is a socket that no process has open, or that is not there.
var errNoOwner = errors.New("no process has its socket open")

// Sizes and places in netlink's messages (linux/netlink.h, linux/inet_diag.h).
const (
	nlHeader  = 16                         // nlmsghdr
	diagID    = 48                         // inet_diag_sockid
	diagAsk   = nlHeader + 8 + diagID      // inet_diag_req_v2
	diagTell  = nlHeader + 4 + diagID + 20 // inet_diag_msg
	diagUID   = nlHeader + 4 + diagID + 12 // of it: idiag_uid
	diagInode = nlHeader + 4 + diagID + 16 // idiag_inode
)

// ownerByDiag asks the kernel for the user of the one TCP socket that is at
// client and connected to server (sock_diag(7)). It takes 10 us where a walk
// through /proc/net/tcp takes milliseconds, more with each socket there is.
func ownerByDiag(client, server netip.AddrPort) (uid int, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, fmt.Errorf("sock_diag: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return 0, fmt.Errorf("sock_diag: %w", err)
	}
	if err := unix.Sendto(fd, diagQuestion(client, server), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("sock_diag: %w", err)
	}
	var room [512]byte
	n, _, err := unix.Recvfrom(fd, room[:], 0)
	if err != nil {
		return 0, fmt.Errorf("sock_diag: %w", err)
	}
	return diagAnswer(room[:n], client, server)
}

func diagQuestion(client, server netip.AddrPort) []byte {
	b := make([]byte, diagAsk)
	native := binary.NativeEndian
	native.PutUint32(b[0:], diagAsk)
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST)
	r := b[nlHeader:]
	r[0], r[1] = unix.AF_INET, unix.IPPROTO_TCP
	if client.Addr().Is6() {
		r[0] = unix.AF_INET6
	}
	native.PutUint32(r[4:], ^uint32(0)) // in any state
	id := r[8:]
	binary.BigEndian.PutUint16(id[0:], client.Port())
	binary.BigEndian.PutUint16(id[2:], server.Port())
	copy(id[4:20], client.Addr().AsSlice())
	copy(id[20:36], server.Addr().AsSlice())
	native.PutUint64(id[40:], ^uint64(0)) // no cookie
	return b
}

// diagAnswer reads the answer. A socket that its process has closed has no
// inode; kernels before 6.17 say that it is root's.
func diagAnswer(b []byte, client, server netip.AddrPort) (uid int, err error) {
	native := binary.NativeEndian
	if len(b) >= nlHeader+4 && native.Uint16(b[4:]) == unix.NLMSG_ERROR {
		errno := unix.Errno(-int32(native.Uint32(b[nlHeader:]))) //nolint:gosec // the kernel's, negated
		return 0, fmt.Errorf("sock_diag: %w", errno)
	}
	if len(b) < diagTell || native.Uint16(b[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return 0, errors.New("sock_diag: an answer of another kind")
	}
	id := b[nlHeader+4:]
	// A question about a socket that is gone may be answered with a listener.
	if binary.BigEndian.Uint16(id[0:]) != client.Port() || binary.BigEndian.Uint16(id[2:]) != server.Port() ||
		native.Uint32(b[diagInode:]) == 0 {
		return 0, errNoOwner
	}
	return int(native.Uint32(b[diagUID:])), nil
}
