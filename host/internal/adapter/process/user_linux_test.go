// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// The roles are what a process tries that nothing holds but its user.
func init() {
	roles["somebody else"] = func() {
		host, sibling, file := environ("HOST"), environ("SIBLING"), os.Getenv("GRANTED")
		attempt("who", func() error {
			groups, err := os.Getgroups()
			r, e, s := unix.Getresuid()
			gr, ge, gs := unix.Getresgid()
			return errors.Join(err, fmt.Errorf("%d %d %d, %d %d %d, %v", r, e, s, gr, ge, gs, groups))
		})
		for name, pid := range map[string]int{"host": host, "guardian": os.Getppid(), "sibling": sibling} {
			attempt("signal to the "+name, func() error { return unix.Kill(pid, 0) })
			attempt("trace of the "+name, func() error { return unix.PtraceAttach(pid) })
			attempt("environment of the "+name, func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); return err })
			attempt("memory of the "+name, func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/mem", pid)); return err })
			attempt("root of the "+name, func() error { _, err := os.Stat(fmt.Sprintf("/proc/%d/root/", pid)); return err })
			attempt("limits of the "+name, func() error { return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 10, Max: 10}, nil) })
			attempt("pace of the "+name, func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) })
		}
		attempt("mode of a file", func() error { return os.Chmod(file, 0o777) })
		attempt("owner of a file", func() error { return os.Chown(file, os.Getuid(), -1) })
		attempt("times of a file", func() error { return os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)) })
		attempt("attributes of a file", func() error { return unix.Setxattr(file, "user.x", []byte("x"), 0) })
		attempt("content of a file", func() error { _, err := os.ReadFile(file); return err })
		attempt("root again", func() error { return call(unix.SYS_SETUID, 0) })
		attempt("another group", func() error { return call(unix.SYS_SETGID, 0) })
		attempt("groups", func() error { return call(unix.SYS_SETGROUPS, 0) })
		attempt("a program that is root's", func() error { // by its mode
			out, err := exec.Command(os.Getenv("SETUID"), "-u").Output()
			return errors.Join(err, fmt.Errorf("user %s", strings.TrimSpace(string(out))))
		})
	}
	roles["breeds"] = func() {
		attempt("breeding", func() error {
			for n := 0; ; n++ {
				pid, _, errno := unix.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
				if errno != 0 {
					return fmt.Errorf("after %d: %w", n, errno)
				}
				if pid == 0 { // what was cloned can do little: it has one thread, and the runtime has several
					for {
						_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
					}
				}
			}
		})
		select {}
	}
}

func call(number uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	if _, _, errno := unix.RawSyscall(number, a[0], a[1], a[2]); errno != 0 {
		return errno
	}
	return nil
}

func environ(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

// stage is where processes of other users can execute this program and have a
// directory each.
type stage struct{ dir, self string }

func newStage(t *testing.T) *stage {
	t.Helper()
	if err := account.Possible(); err != nil {
		t.Skip("no users can be given: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &stage{dir, filepath.Join(dir, "program")}
	if out, err := exec.Command("cp", self, s.self).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(s.self, 0o755)); err != nil {
		t.Fatal(err)
	}
	return s
}

// play plays a role as a user, which nothing else holds.
func (s *stage) play(t *testing.T, role string, user int, env ...string) (r *running, own string) {
	t.Helper()
	own = filepath.Join(s.dir, fmt.Sprint(role, user))
	if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, user, user)); err != nil {
		t.Fatal(err)
	}
	return start(t, Spec{
		Path: s.self, Dir: "/", SocketDir: own, Sandbox: &sandbox.Policy{User: user},
		Env: append(env, mode+"="+role, "OWN="+own, "SOCKET="+filepath.Join(own, "s")),
	}), own
}

func report(t *testing.T, own string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(own, "report"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out[name] = outcome
	}
	return out
}

func TestAProcessOfAnotherUserCanDoNothingToTheHostAndItsSiblings(t *testing.T) {
	s := newStage(t)
	sibling, _ := s.play(t, "serve", account.First+1)
	sibling.line(t)
	file, id := filepath.Join(s.dir, "file"), filepath.Join(s.dir, "id")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "/usr/bin/id", id).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	if err := os.Chmod(id, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	r, own := s.play(t, "somebody else", account.First, fmt.Sprintf("HOST=%d", os.Getpid()), fmt.Sprintf("SIBLING=%d", sibling.PID()), "GRANTED="+file, "SETUID="+id)
	r.ends(t)
	want := map[string]string{
		"who":            fmt.Sprintf("%[1]d %[1]d %[1]d, %[1]d %[1]d %[1]d, []", account.First),
		"mode of a file": denied, "owner of a file": denied, "times of a file": denied, "attributes of a file": hidden, "content of a file": hidden,
		"root again": denied, "another group": denied, "groups": denied,
		"a program that is root's": fmt.Sprintf("user %d", account.First),
	}
	for _, other := range []string{"host", "guardian", "sibling"} {
		want["signal to the "+other], want["trace of the "+other], want["limits of the "+other] = denied, denied, denied
		want["environment of the "+other], want["memory of the "+other], want["root of the "+other] = hidden, hidden, hidden
		want["pace of the "+other] = denied
	}
	expect(t, report(t, own), want)
}

func TestAUserThatBreedsEndsAtItsLimitAndItsNeighboursLive(t *testing.T) {
	s := newStage(t)
	neighbour, _ := s.play(t, "serve", account.First+1)
	neighbour.line(t)
	r, own := s.play(t, "breeds", account.First)
	var said string
	for late := time.Now().Add(bound); said == ""; time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(own, "report")); err == nil {
			said = strings.TrimSpace(string(text))
		}
		if time.Now().After(late) {
			t.Fatal("it breeds on")
		}
	}
	var n int
	if _, err := fmt.Sscanf(said, "breeding: after %d: resource temporarily unavailable", &n); err != nil || n < sandbox.MaxTasks/2 || n > sandbox.MaxTasks {
		t.Errorf("%q, want an end at %d", said, sandbox.MaxTasks)
	}
	// While all of it is there.
	another, _ := s.play(t, "serve", account.First+2)
	if got := another.line(t); got != "ready" {
		t.Errorf("another user's process says %q", got)
	}
	if alive, _ := lives(neighbour.PID()); !alive {
		t.Error("its neighbour is gone")
	}
	if err := r.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := exec.Command("sh", "-c", fmt.Sprintf("grep -lsP '^Uid:\\t%d\\t' /proc/[0-9]*/status | wc -l", account.First)).Output()
	if err != nil || strings.TrimSpace(string(left)) != "0" {
		t.Errorf("%s processes of it are left, %v", left, err)
	}
}

func TestTheSocketOfAProcessThatHasAUserIsServedByThatUser(t *testing.T) {
	s := newStage(t)
	r, own := s.play(t, "serve", account.First)
	r.line(t)
	if _, _, err := r.PluginToHost("unix", filepath.Join(own, "s")); err != nil {
		t.Fatal(err)
	}
	conn, err := r.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for user, want := range map[int]string{
		0:                 fmt.Sprintf("user %d is at the other end, and the plugin is user 0", account.First),
		account.First + 1: fmt.Sprintf("user %d is at the other end, and the plugin is user %d", account.First, account.First+1),
	} {
		r.spec.Sandbox = &sandbox.Policy{User: user}
		if conn, err := r.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dialled %v, %v; want %q", conn, err, want)
		}
	}
}

// The guardian stays root: it has yet to end what is another user's.
func TestAProcessOfAnotherUserEndsWithItsHostAndItsGuardian(t *testing.T) {
	s := newStage(t)
	r, _ := s.play(t, "serve", account.First)
	r.line(t)
	if err := syscall.Kill(r.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	expectEnd(t, "the process of a guardian that was killed", r.PID())
	r, _ = s.play(t, "serve", account.First+1)
	r.line(t)
	_ = r.leash.control.Close() // as when the host ends
	expectEnd(t, "the process of a host that is gone", r.PID())
	r.ends(t)
}
