// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes: the process is killed when the host dies, however it dies, and
// leads a group of its own, so that it can be killed with what it starts and
// does not get the terminal's Ctrl-C.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// spawner starts all processes from one thread that lives as long as the host:
// PR_SET_PDEATHSIG fires when the thread that started the child ends, and
// goroutines may leave threads that end.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // and never unlocked
		for f := range work {
			f()
		}
	}()
	return work
})

func spawn(cmd *exec.Cmd) error {
	started := make(chan error)
	spawner() <- func() { started <- cmd.Start() }
	return <-started
}

// killGroup kills the group that pid leads; there may be none any more.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// await waits for the process, and ends what it has started before its id, and
// so the id of its group, can be given to somebody else.
func (p *Process) await() (*os.ProcessState, error) {
	pid := p.cmd.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(pid)
	state, err := p.cmd.Process.Wait()
	p.reaped = true
	return state, err
}
