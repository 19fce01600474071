// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// tieToThread has the kernel end the command, which is yet to be started, when
// the calling thread ends, so that not even a kill of this program leaves a
// server behind. The caller keeps the thread until it calls release.
func tieToThread(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	return runtime.UnlockOSThread
}

// nobody is the user who owns nothing, on every distribution.
const nobody = 65534

// unprivileged has root run the command, which is yet to be started, as nobody, and
// gives nobody the directory. Others run it as they are.
func unprivileged(cmd *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return os.Chown(dir, nobody, nobody)
}
