// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Become makes the calling thread, and no other, the policy's user. The calls of
// package syscall are for all threads, and the guardian has yet to end what the
// thread starts.
func (p *Policy) Become() error {
	if p.User == 0 {
		return nil
	}
	id := uintptr(p.User)
	for _, c := range []struct {
		name          string
		call, a, b, c uintptr
	}{
		{"groups", unix.SYS_SETGROUPS, 0, 0, 0}, {"group", unix.SYS_SETRESGID, id, id, id}, {"user", unix.SYS_SETRESUID, id, id, id},
	} {
		if _, _, errno := unix.RawSyscall(c.call, c.a, c.b, c.c); errno != 0 {
			return fmt.Errorf("%s %d: %w", c.name, p.User, errno)
		}
	}
	return nil
}
