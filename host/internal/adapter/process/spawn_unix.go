//go:build unix && !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes: the process leads a group of its own. It is not killed with the
// host here; SDKs watch their parent.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func spawn(cmd *exec.Cmd) error { return cmd.Start() }

// killGroup kills the group that pid leads; there may be none any more.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }
