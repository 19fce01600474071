// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attempt tries one way out of a sandbox, and returns what the system says of it.
func attempt(verb string, args []string) error {
	if do, ok := attempts[verb]; ok {
		return do(append(args, "", "", ""))
	}
	return fmt.Errorf("no such attempt: %s", verb)
}

// home is where it may write.
func home(name string) string { return filepath.Join(os.Getenv("HOME"), name) }

var attempts = map[string]func(a []string) error{
	"nothing": func([]string) error { return nil },
	"read": func(a []string) error {
		f, err := os.Open(a[0])
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if info, err := f.Stat(); err != nil || info.IsDir() {
			_, err = f.Readdirnames(1)
			return err
		}
		_, err = f.Read(make([]byte, 1))
		return err
	},
	"write": func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		return f.Close()
	},
	"truncate": func(a []string) error { return os.Truncate(a[0], 0) },
	"remove":   func(a []string) error { return os.Remove(a[0]) },
	"rename":   func(a []string) error { return os.Rename(a[0], home("stolen")) },
	"symlink": func(a []string) error {
		_ = os.Remove(home("link"))
		if err := os.Symlink(a[0], home("link")); err != nil {
			return err
		}
		_, err := os.ReadFile(home("link"))
		return err
	},
	"hardlink": func(a []string) error {
		_ = os.Remove(home("hard"))
		if err := os.Link(a[0], home("hard")); err != nil {
			return err
		}
		_, err := os.ReadFile(home("hard"))
		return err
	},
	"exec": func(a []string) error { return exec.Command(a[0], "-c", "exit").Run() },
	"dial": func(a []string) error {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial(a[0], a[1])
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("x"))
		return errors.Join(err, c.Close())
	},
	// Speaks HTTP to a socket.
	"ask": func(a []string) error {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("unix", a[0])
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		_, err = c.Write([]byte("GET /v1/host HTTP/1.1\r\nHost: x\r\n\r\n"))
		if err == nil {
			_, err = c.Read(make([]byte, 1))
		}
		return err
	},
	// Asks the host for a connection.
	"through": func(a []string) error {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("unix", os.Getenv("TOOLWHARF_EGRESS"))
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		if _, err := fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", a[0]); err != nil {
			return err
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		why, err := io.ReadAll(answer.Body)
		return errors.Join(err, errors.New(answer.Status+" "+strings.TrimSpace(string(why))))
	},
	"socket": func(a []string) error {
		fd, err := unix.Socket(number(a[0]), number(a[1]), number(a[2]))
		if err != nil {
			return err
		}
		return unix.Close(fd)
	},
	"listen": func(a []string) error {
		l, err := net.Listen(a[0], a[1])
		if err != nil {
			return err
		}
		return l.Close()
	},
	"signal": func(a []string) error { return unix.Kill(number(a[0]), 0) },
	"ptrace": func(a []string) error { return unix.PtraceAttach(number(a[0])) },
	"memory": func(a []string) error {
		b := make([]byte, 1)
		_, err := unix.ProcessVMReadv(number(a[0]), []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
		return err
	},
	"stdin": func([]string) error {
		b := make([]byte, 1)
		if n, err := os.Stdin.Read(b); n == 0 {
			return errors.Join(errors.New("nothing to read"), err)
		}
		return nil
	},
	"descriptors": func([]string) error {
		var open []string
		for fd := range 1024 {
			var stat unix.Stat_t
			if unix.Fstat(fd, &stat) != nil {
				continue
			}
			switch stat.Mode & unix.S_IFMT {
			case unix.S_IFSOCK, 0: // its own, and those of its runtime
			default:
				open = append(open, strconv.Itoa(fd))
			}
		}
		return errors.New(strings.Join(open, " "))
	},
	"io_uring":    func([]string) error { return call(unix.SYS_IO_URING_SETUP, 1, 0) },
	"userfaultfd": func([]string) error { return call(unix.SYS_USERFAULTFD, 0, 0) },
	"keyctl":      func([]string) error { return call(unix.SYS_KEYCTL, 0, ^uintptr(2)) },
	"personality": func([]string) error { return call(unix.SYS_PERSONALITY, 0xffffffff, 0) },
	"unshare":     func([]string) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0) },
	"chroot":      func([]string) error { return unix.Chroot(os.Getenv("HOME")) },
	"setuid":      func([]string) error { return call(unix.SYS_SETUID, 12345, 0) },
	"chown": func([]string) error {
		_ = os.WriteFile(home("f"), nil, 0o600)
		return os.Chown(home("f"), 12345, 12345)
	},
	"limits": func(a []string) error { // leaves them as they are
		var now unix.Rlimit
		if err := unix.Prlimit(number(a[0]), unix.RLIMIT_NOFILE, nil, &now); err != nil {
			return err
		}
		return unix.Prlimit(number(a[0]), unix.RLIMIT_NOFILE, &now, nil)
	},
	"pace": func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 0) },
	"processors": func(a []string) error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(number(a[0]), &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(number(a[0]), &set)
	},
	"shared_memory": func([]string) error { return call(unix.SYS_SHMGET, 0, 4096) },
	// A program of its own making: in its home, or in memory.
	"made": func([]string) error {
		if err := os.WriteFile(home("made"), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it is to be executed
			return err
		}
		return exec.Command(home("made")).Run()
	},
	"mode":  func(a []string) error { return os.Chmod(a[0], 0o777) }, //nolint:gosec // that it must not come to it is the point
	"times": func(a []string) error { return os.Chtimes(a[0], time.Unix(1, 0), time.Unix(1, 0)) },
	"owner": func(a []string) error { return os.Chown(a[0], os.Getuid(), -1) },
	"who": func([]string) error {
		groups, err := os.Getgroups()
		return errors.Join(err, fmt.Errorf("user %d, group %d, others %v", os.Geteuid(), os.Getegid(), groups))
	},
	// So many MiB of memory, each page of it.
	"hoard": func(a []string) error {
		hoard := make([]byte, number(a[0])<<20)
		for at := 0; at < len(hoard); at += 4096 {
			hoard[at] = 1
		}
		return nil
	},
	// Processes until there can be no more, each of which costs next to nothing.
	"breed": func([]string) error {
		for {
			pid, _, errno := unix.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
			if errno != 0 {
				return errno
			}
			for pid == 0 { // of the runtime's threads it has one: it can do little
				_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	},
	"device": func([]string) error { return unix.Mknod(home("device"), unix.S_IFBLK|0o600, 1) },
	// A child in a session of its own, which says where it is.
	"stay": func([]string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		child := exec.Command(self)
		child.Env = append(os.Environ(), "MISCHIEF=stays")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			return err
		}
		return fmt.Errorf("%d", child.Process.Pid)
	},
	"socket_path": func([]string) error { return errors.New(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")) },
	"home":        func([]string) error { return fmt.Errorf("%s %s", os.Getenv("HOME"), os.Getenv("TMPDIR")) },
}

func call(n, a, b uintptr) error {
	if _, _, errno := unix.Syscall(n, a, b, 0); errno != 0 {
		return errno
	}
	return nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	check(err)
	return n
}
