// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// samePeer reports, as an error, that the other end is another user, or a stranger.
// Root may be whom it wants anyway.
func samePeer(conn net.Conn, stranger func(pid int) error) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	if cred.Uid != 0 && int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("peer is user %d, not the host's", cred.Uid)
	}
	if stranger == nil {
		return nil
	}
	return stranger(int(cred.Pid))
}
