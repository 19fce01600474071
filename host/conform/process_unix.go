//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate gives the process a group of its own, so that it can be killed with
// what it starts.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killAll(cmd *exec.Cmd) {
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	_ = cmd.Process.Kill()
}

// alive reports whether there is such a process. One that has ended and that
// nobody waits for is none.
func alive(pid int) bool { return unix.Kill(pid, 0) == nil && !zombie(pid) }
