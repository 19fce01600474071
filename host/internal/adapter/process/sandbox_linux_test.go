// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/profile"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// An attempt says what came of it: "ok", or the error.
func attempt(name string, do func() error) {
	outcome := "ok"
	if err := do(); err != nil {
		outcome = err.Error()
	}
	f, err := os.OpenFile(filepath.Join(os.Getenv("OWN"), "report"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	_, _ = fmt.Fprintf(f, "%s: %s\n", name, strings.ReplaceAll(outcome, "\n", " "))
	_ = f.Close()
}

// The roles are what a confined process tries.
func init() {
	roles["confined"] = func() {
		own := os.Getenv("OWN")
		read := func(path string) func() error {
			return func() error { _, err := os.ReadFile(path); return err }
		}
		write := func(path string) func() error {
			return func() error { return os.WriteFile(path, []byte("x"), 0o600) }
		}
		socket := func(domain, kind, protocol int) func() error {
			return func() error {
				fd, err := unix.Socket(domain, kind, protocol)
				if err == nil {
					_ = unix.Close(fd)
				}
				return err
			}
		}
		call := func(number uintptr, args ...uintptr) func() error {
			return func() error {
				var a [6]uintptr
				copy(a[:], args)
				if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
					return errno
				}
				return nil
			}
		}
		attempt("own file", write(filepath.Join(own, "file")))
		attempt("own socket", func() error {
			l, err := net.Listen("unix", filepath.Join(own, "sock"))
			if err == nil {
				err = l.Close()
			}
			return err
		})
		attempt("granted", read(os.Getenv("GRANTED")))
		attempt("write granted", write(os.Getenv("GRANTED")))
		attempt("beside", read(os.Getenv("GRANTED")+".beside"))
		attempt("home", read("/etc/shadow"))
		attempt("environ of the host", read(fmt.Sprintf("/proc/%s/environ", os.Getenv("HOST"))))
		attempt("unix", func() error { _, err := net.Dial("unix", os.Getenv("LISTENER")); return err })
		attempt("tcp", socket(unix.AF_INET, unix.SOCK_STREAM, 0))
		attempt("udp", socket(unix.AF_INET, unix.SOCK_DGRAM, 0))
		attempt("mptcp", socket(unix.AF_INET, unix.SOCK_STREAM, 262))
		attempt("raw", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP))
		attempt("packet", socket(unix.AF_PACKET, unix.SOCK_RAW, 0))
		attempt("vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0))
		attempt("netlink", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE))
		attempt("unix datagram", socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0))
		attempt("a family in more than 32 bits", call(unix.SYS_SOCKET, 1<<32|unix.AF_INET, unix.SOCK_STREAM, 0))
		attempt("another kind of netlink", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER))
		attempt("abstract", func() error { _, err := net.Dial("unix", os.Getenv("ABSTRACT")); return err })
		pair := func(kind int) func() error {
			return func() error { _, err := unix.Socketpair(unix.AF_UNIX, kind, 0); return err }
		}
		attempt("a pair", pair(unix.SOCK_STREAM))
		attempt("a pair of datagrams", pair(unix.SOCK_DGRAM))
		port, _ := strconv.Atoi(os.Getenv("PORT"))
		dial := func(port int) func() error {
			return func() error { _, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); return err }
		}
		attempt("the port", dial(port))
		attempt("another port", dial(port+1))
		attempt("a connection by its first bytes", func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		})
		attempt("capabilities", func() error {
			header := unix.CapUserHeader{Version: 0x20080522}
			var caps [2]unix.CapUserData
			if err := unix.Capget(&header, &caps[0]); err != nil {
				return err
			}
			bounding := 0
			for c := range uintptr(40) {
				if in, _, _ := unix.Syscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0); in == 1 && os.Getuid() == 0 {
					bounding++
				}
			}
			privileges, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
			return errors.Join(err, fmt.Errorf("%08x%08x %016x %d", caps[1].Permitted, caps[0].Permitted, bounding, privileges))
		})
		attempt("ptrace", call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(os.Getppid())))
		attempt("unshare", call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER))
		attempt("clone into a namespace", call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)))
		attempt("clone3", call(unix.SYS_CLONE3))
		attempt("io_uring", call(unix.SYS_IO_URING_SETUP, 1))
		attempt("userfaultfd", call(unix.SYS_USERFAULTFD))
		attempt("keyctl", call(unix.SYS_KEYCTL))
		attempt("personality", call(unix.SYS_PERSONALITY, 0xffffffff))
		attempt("bpf", call(unix.SYS_BPF))
		host, _ := strconv.Atoi(os.Getenv("HOST"))
		for name, pid := range map[string]int{"the host": host, "the guardian": os.Getppid()} {
			var now unix.Rlimit
			attempt("limits of "+name, func() error {
				return errors.Join(unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now), unix.Prlimit(pid, unix.RLIMIT_NOFILE, &now, nil))
			})
			attempt("limits of "+name+" in more than 32 bits", call(unix.SYS_PRLIMIT64, 1<<32|uintptr(pid), unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&now))))
			attempt("pace of "+name, func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 0) })
			attempt("pace of the group of "+name, func() error { return unix.Setpriority(unix.PRIO_PGRP, pid, 0) })
			attempt("processors of "+name, func() error {
				var set unix.CPUSet
				return errors.Join(unix.SchedGetaffinity(pid, &set), unix.SchedSetaffinity(pid, &set))
			})
			attempt("scheduler of "+name, call(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), 0, uintptr(unsafe.Pointer(&[2]int32{}))))
			attempt("disks of "+name, call(unix.SYS_IOPRIO_SET, 1, uintptr(pid), 0))
		}
		attempt("pace of the user", func() error { return unix.Setpriority(unix.PRIO_USER, 0, 0) })
		attempt("own limits", func() error {
			var now unix.Rlimit
			return errors.Join(unix.Getrlimit(unix.RLIMIT_NOFILE, &now), unix.Setrlimit(unix.RLIMIT_NOFILE, &now))
		})
		attempt("own pace", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 1) })
		attempt("shared memory", call(unix.SYS_SHMGET, 0, 4096, 0o600|unix.IPC_CREAT))
		attempt("messages", call(unix.SYS_MSGGET, 0, 0o600|unix.IPC_CREAT))
		attempt("semaphores", call(unix.SYS_SEMGET, 0, 1, 0o600|unix.IPC_CREAT))
		attempt("a queue", call(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&[]byte("toolwharf\x00")[0])), unix.O_CREAT|unix.O_RDWR, 0o600, 0))
		attempt("signal to the guardian", func() error { return unix.Kill(os.Getppid(), 0) })
		attempt("a shell", func() error { return syscall.Exec("/bin/sh", []string{"sh", "-c", "exit"}, nil) })
	}
}

// confined plays that role under a policy, and returns what came of each attempt.
func confined(t *testing.T, policy *sandbox.Policy) map[string]string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := profile.Rules(profile.Program{Path: self})
	if err != nil {
		t.Fatal(err)
	}
	own, other := t.TempDir(), t.TempDir()
	granted := filepath.Join(other, "granted")
	for _, path := range []string{granted, granted + ".beside"} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener := filepath.Join(socketDir(t), "l")
	listen(t, listener)
	abstract := "@" + listener
	listen(t, abstract)
	if policy != nil {
		policy.Rules = append([]sandbox.Rule(nil), rules...)
		policy.Rules = append(policy.Rules, sandbox.Rule{Path: own, Access: sandbox.Own}, sandbox.Rule{Path: granted, Access: sandbox.Read})
	}
	r := start(t, Spec{Path: self, Sandbox: policy, Env: []string{
		mode + "=confined", "OWN=" + own, "GRANTED=" + granted, "LISTENER=" + listener, fmt.Sprintf("HOST=%d", os.Getpid()),
		"ABSTRACT=" + abstract, "PORT=" + os.Getenv("PORT"),
	}})
	r.ends(t)
	out := map[string]string{}
	report, err := os.ReadFile(filepath.Join(own, "report"))
	if err != nil {
		t.Fatal(err, r.Exit(), r.LastWords())
	}
	for line := range strings.Lines(string(report)) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out[name] = outcome
	}
	t.Log(r.Exit(), r.LastWords())
	return out
}

// Words of the errors of what is denied.
const (
	ok     = "ok"
	denied = "operation not permitted"
	hidden = "permission denied"
)

// expect compares what came of attempts. The kernel has to have all that the
// package knows: elsewhere the policy says that it is missing.
func expect(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, outcome := range want {
		t.Run(name, func(t *testing.T) {
			if said := got[name]; !strings.HasSuffix(said, outcome) {
				t.Errorf("%q, want %q", said, outcome)
			}
		})
	}
}

func needsKernel(t *testing.T) sandbox.Support {
	t.Helper()
	s := sandbox.Probe()
	if s.Landlock < 6 || !s.Seccomp {
		t.Skipf("this kernel has landlock %d, seccomp %v: not all of it can be held", s.Landlock, s.Seccomp)
	}
	return s
}

func TestAConfinedProcessHasItselfAndWhatIsGrantedAndNothingElse(t *testing.T) {
	expect(t, confined(t, sandbox.For(needsKernel(t), nil)), map[string]string{
		"own file": ok, "own socket": ok, "granted": ok,
		"write granted": hidden, "beside": hidden, "home": hidden, "environ of the host": hidden, "a shell": hidden,
		"unix": denied, "unix datagram": denied, "abstract": denied, "tcp": denied, "udp": denied, "mptcp": denied, "raw": denied, "packet": denied,
		"vsock": denied, "netlink": denied, "a family in more than 32 bits": denied, "a pair of datagrams": denied, "a pair": ok,
		"ptrace": denied, "unshare": denied, "clone into a namespace": denied, "clone3": "function not implemented",
		"io_uring": denied, "userfaultfd": denied, "keyctl": denied, "personality": denied, "bpf": denied,
		"limits of the host": denied, "limits of the guardian": denied, "limits of the host in more than 32 bits": denied,
		"pace of the host": denied, "pace of the guardian": denied, "pace of the group of the host": denied, "pace of the user": denied,
		"processors of the host": denied, "processors of the guardian": denied, "scheduler of the host": denied, "disks of the host": denied,
		"own limits": ok, "own pace": ok, "shared memory": denied, "messages": denied, "semaphores": denied, "a queue": denied,
		"signal to the guardian": denied, "capabilities": "0000000000000000 0000000000000000 1",
	})
}

func TestAProcessThatMayConnectReachesItsPortByTCPAndNothingElse(t *testing.T) {
	policy := sandbox.For(needsKernel(t), nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	policy.Ports = []uint16{uint16(port)}
	t.Setenv("PORT", strconv.Itoa(port))
	want := map[string]string{
		"tcp": ok, "the port": ok, "another port": hidden, "a connection by its first bytes": denied,
		"udp": denied, "mptcp": denied, "raw": denied, "packet": denied, "vsock": denied, "netlink": denied,
		"unix datagram": denied, "abstract": denied, "a family in more than 32 bits": denied,
	}
	expect(t, confined(t, policy), want)
	t.Run("and resolves names", func(t *testing.T) {
		policy.Names = true
		want["udp"], want["netlink"], want["another kind of netlink"] = ok, ok, denied
		expect(t, confined(t, policy), want)
	})
}

// foreign is a program of 32 bits, which ends with status 7 by its own numbers of
// system calls.
var foreign = func() []byte {
	code := []byte{0xb8, 1, 0, 0, 0, 0xbb, 7, 0, 0, 0, 0xcd, 0x80}
	const base, header = 0x08048000, 52 + 32
	b := []byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, half := range []uint16{2, 3} { // an executable, of i386
		b = binary.LittleEndian.AppendUint16(b, half)
	}
	for _, word := range []uint32{1, base + header, 52, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	for _, half := range []uint16{52, 32, 1, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint16(b, half)
	}
	size := uint32(header + len(code))
	for _, word := range []uint32{1, 0, base, base, size, size, 5, 0x1000} {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	return append(b, code...)
}()

func TestAProgramOfAnotherArchitectureIsKilled(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is of i386")
	}
	s := needsKernel(t)
	path := filepath.Join(t.TempDir(), "foreign")
	if err := os.WriteFile(path, foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	free := New(Spec{Path: path})
	if err := free.Start(t.Context()); err != nil {
		t.Skip("this kernel runs none: ", err)
	}
	<-free.Done()
	if free.Exit() != "exit status 7" {
		t.Fatal(free.Exit())
	}
	r := start(t, Spec{Path: path, Sandbox: sandbox.For(s, []sandbox.Rule{{Path: path, Access: sandbox.Execute}})})
	r.ends(t)
	if !strings.HasPrefix(r.Exit(), "signal: bad system call") {
		t.Error(r.Exit())
	}
}

func TestAProcessThatCannotBeConfinedIsNotStartedAndSaysWhy(t *testing.T) {
	p := New(Spec{Path: "/bin/true", Sandbox: &sandbox.Policy{Landlock: 1, Rules: []sandbox.Rule{{Path: "/", Access: 0}}}})
	err := p.Start(t.Context())
	if _, confinement := errors.AsType[*ConfinementError](err); !confinement || !strings.Contains(err.Error(), "sandbox: landlock: /: ") {
		t.Error(err)
	}
}
