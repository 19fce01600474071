// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"syscall"
)

// leash is nothing here: there is no guardian.
type leash struct{}

func spawn(cmd *exec.Cmd, _ *Spec) (leash, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	return leash{}, cmd.Start()
}

// kill ends the process itself only.
func (p *Process) kill() { _ = p.cmd.Process.Kill() }
