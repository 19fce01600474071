//go:build unix && !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// leash is nothing here: there is no guardian.
type leash struct{}

// spawn starts cmd as the leader of a group of its own. It is not killed with the
// host here; SDKs watch their parent.
func spawn(cmd *exec.Cmd, _ *Spec) (leash, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return leash{}, cmd.Start()
}

// kill kills the process and the group that it leads; there may be none any more.
func (p *Process) kill() {
	_ = unix.Kill(-p.pid(), unix.SIGKILL)
	_ = p.cmd.Process.Kill()
}
