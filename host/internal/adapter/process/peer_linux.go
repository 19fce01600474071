// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
)

// serves reports, as an error, that the other end of conn is neither this
// process nor started by it.
func (p *Process) serves(conn net.Conn) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return fmt.Errorf("peer of the plugin's socket: %w", err)
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("peer of the plugin's socket: %w", err)
	}
	// Whatever the plugin started descends from its guardian, also what has left
	// the plugin.
	if !guardian.Descends(int(cred.Pid), p.cmd.Process.Pid) {
		return fmt.Errorf("process %d is at the other end, which the plugin (%d) has not started", cred.Pid, p.PID())
	}
	if p.spec.Sandbox == nil {
		return nil // it may become whoever its user may become
	}
	user := os.Geteuid()
	if own := p.spec.Sandbox.User; own != 0 {
		user = own
	}
	if int(cred.Uid) != user {
		return fmt.Errorf("user %d is at the other end, and the plugin is user %d", cred.Uid, user)
	}
	return nil
}
