// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guardian

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// control is the socket to the host.
const control = 3

// Exit statuses of a guardian that has nothing to pass on.
const (
	exitMisused  = 2
	exitConfined = 126 // it cannot be confined as the host demands, or is not the plugin that it was to be
	exitRefused  = 127 // the plugin cannot be executed
)

func init() { //nolint:gochecknoinits // see the package's comment
	if len(os.Args) > 2 && os.Args[1] == Word {
		guard(os.Args[2], os.Args[2:])
	}
}

// guard starts the plugin, watches over it, and ends as it did.
func guard(path string, argv []string) {
	if _, err := unix.GetsockoptInt(control, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		fmt.Fprintln(os.Stderr, "this is how toolwharf starts its plugins; it is of no use by hand")
		os.Exit(exitMisused)
	}
	unix.CloseOnExec(control)
	// Neither is the plugin to have what the host was executed with.
	_ = unix.CloseRange(control, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	ended := make(chan os.Signal, 1) // one that waits stands for all that follow
	signal.Notify(ended, unix.SIGCHLD)
	others := make(chan os.Signal, 16)
	signal.Notify(others, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	// What this process was given, it holds for the plugin alone.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	order, err := hear()
	if err != nil {
		fmt.Fprintln(os.Stderr, "toolwharf: what the plugin is started by:", err)
		os.Exit(exitConfined)
	}
	strict := order.Sandbox != nil && order.Sandbox.Strict
	if strict {
		if err := order.Sandbox.Isolate(); err != nil {
			unconfined(err)
		}
	}
	pid := start(path, argv, order)
	started(pid, strict)
	// The pipes are the plugin's: the host is to see their end.
	_ = unix.Dup3(0, 1, 0)
	_ = unix.Dup3(0, 2, 0)
	status := watch(pid, ended, others)
	finish(ended)
	tell(fmt.Sprintf("%s%d", Clear, signalled(status)))
	end(status)
}

// start starts the plugin from a thread that is confined as the plugin is to be,
// and that stays: PR_SET_PDEATHSIG of the plugin fires when it ends.
func start(path string, argv []string, order *Order) (pid int) {
	started := make(chan int)
	go func() {
		runtime.LockOSThread()
		program, err := order.program(path)
		if err == nil && order.Sandbox != nil {
			err = order.Sandbox.Enter()
		}
		if err != nil {
			unconfined(err)
		}
		pid, err := syscall.ForkExec(executable(path, program), argv, &syscall.ProcAttr{ //nolint:gosec // what the host says is what it is for
			Env: os.Environ(), Files: []uintptr{0, 1, 2},
			Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		})
		if err != nil {
			var no syscall.Errno
			_ = errors.As(err, &no)
			tell(fmt.Sprintf("%s%d", Refused, int(no)))
			os.Exit(exitRefused)
		}
		if err := order.bounded(pid); err != nil {
			kill(pid)
			unconfined(fmt.Errorf("limit of memory: %w", err))
		}
		if program != nil {
			_ = program.Close()
		}
		started <- pid
		select {}
	}()
	return <-started
}

// unconfined says that the plugin does not run, and why.
func unconfined(err error) {
	fmt.Fprintln(os.Stderr, "toolwharf:", err)
	tell(Unconfined + err.Error())
	os.Exit(exitConfined)
}

// started tells the plugin's id: to a host in another pid namespace as the kernel tells
// it, which knows what it is there.
func started(pid int, elsewhere bool) {
	line := fmt.Sprintf("%s%d", Started, pid)
	if !elsewhere {
		tell(line)
		return
	}
	who := unix.UnixCredentials(&unix.Ucred{Pid: int32(pid), Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}) //nolint:gosec // ids
	_ = unix.Sendmsg(control, []byte(line+"\n"), who, nil, 0)
}

// signalled is the signal that ended the plugin; 0: none did.
func signalled(status unix.WaitStatus) int {
	if status.Signaled() {
		return int(status.Signal())
	}
	return 0
}

func tell(line string) { _, _ = unix.Write(control, []byte(line+"\n")) }

// watch returns how the plugin ended. It passes signals on, and kills the plugin
// when the host is gone.
func watch(plugin int, ended, others <-chan os.Signal) unix.WaitStatus {
	host := make(chan struct{})
	go func() {
		defer close(host)
		for b := make([]byte, 1); ; {
			if n, err := unix.Read(control, b); n <= 0 && !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	for {
		select {
		case <-ended:
			// Until it is waited for here, its id is nobody else's.
			if status, over, _ := reap(plugin); over {
				return status
			}
		case s := <-others:
			if n, ok := s.(syscall.Signal); ok {
				_ = unix.Kill(plugin, n)
			}
		case <-host:
			host = nil
			kill(plugin)
		}
	}
}

// reap waits for all children that have ended. over says that pid is among them,
// none that there are no more.
func reap(pid int) (status unix.WaitStatus, over, none bool) {
	for {
		var s unix.WaitStatus
		switch n, err := unix.Wait4(-1, &s, unix.WNOHANG, nil); {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			return status, over, true
		case n == 0:
			return status, over, false
		case n == pid:
			status, over = s, true
		}
	}
}

// kill kills a child that was not waited for, and the group that it may lead.
func kill(child int) {
	_ = unix.Kill(-child, unix.SIGKILL)
	_ = unix.Kill(child, unix.SIGKILL)
}

// finish kills all that is left, until none is: the children of what is killed
// become children of this process.
func finish(ended <-chan os.Signal) {
	for {
		if _, _, none := reap(0); none {
			return
		}
		for _, child := range Children() {
			kill(child)
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Millisecond): // one may have been missed
		}
	}
}

// end ends this process as the plugin did.
func end(status unix.WaitStatus) {
	if !status.Signaled() {
		os.Exit(status.ExitStatus())
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // the core is the plugin's

	var deflt [64]byte // SIG_DFL, as a struct sigaction
	_, _, failed := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(status.Signal()),
		uintptr(unsafe.Pointer(&deflt)), 0, 8, 0, 0) //nolint:gosec // all zero, and large enough
	if failed == 0 || status.Signal() == unix.SIGKILL { // which has no other action
		_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), status.Signal())
	}
	os.Exit(128 + int(status.Signal()))
}
