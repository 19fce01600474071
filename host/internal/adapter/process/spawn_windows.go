// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"syscall"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func spawn(cmd *exec.Cmd) error { return cmd.Start() }

// killGroup does nothing here: Kill ends the process itself.
func killGroup(int) {}
