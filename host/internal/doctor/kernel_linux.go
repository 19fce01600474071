// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Kernel looks what this kernel has to confine adapters with.
func Kernel(ctx context.Context) []Check { return []Check{landlock(), seccomp(), namespaces(ctx)} }

// landlock asks for the version of its interface, which takes nothing away.
func landlock() Check {
	const name = "landlock"
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		return Passed(name, "available, ABI %d", abi)
	case unix.ENOSYS:
		return Warned(name, "a kernel of 5.13 or newer has it", "not available: this kernel, or the container, does not know it")
	case unix.EOPNOTSUPP:
		return Warned(name, "add landlock to lsm= of the kernel's command line", "not available: the kernel knows it, and it is not enabled")
	default:
		return Warned(name, "", "not available: %v", errno)
	}
}

// seccomp asks for a filter that is nowhere: a kernel that takes filters looks
// for it in vain, and installs nothing.
func seccomp() Check {
	const name = "seccomp"
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0)
	if !errors.Is(err, unix.EFAULT) {
		return Warned(name, "a kernel with CONFIG_SECCOMP_FILTER has it", "not available: %v", err)
	}
	return Passed(name, "available")
}

// namespaces starts this program once in a user namespace of its own: what may
// forbid it, in the kernel, in a security module or in a container, is too much
// to be read off.
func namespaces(ctx context.Context) Check {
	const name = "user namespaces"
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "version")
	cmd.Args[0] = os.Args[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	if err := cmd.Run(); err != nil {
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno
		}
		return Warned(name, "they are needed by sandbox: strict only, which is not built yet", "not available: %v", err)
	}
	return Passed(name, "available")
}
