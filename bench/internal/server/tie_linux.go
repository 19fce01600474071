// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os/exec"
	"runtime"
	"syscall"
)

// tieToThread has the kernel end the command, which is yet to be started, when
// the calling thread ends, so that not even a kill of this program leaves a
// server behind. The caller keeps the thread until it calls release.
func tieToThread(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return runtime.UnlockOSThread
}
