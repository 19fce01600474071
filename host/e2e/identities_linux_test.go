// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user that has nothing.
const nobody = 65534

// asNobody calls f on a thread of its own that is that user's. It ends with f.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // and not unlocked: the thread ends with this
		_, _, failed := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody)
		if failed == 0 {
			f()
		}
		done <- failed
	}()
	if failed := <-done; failed != 0 {
		t.Fatal(failed)
	}
}

func TestAnotherUserOfTheMachineDecidesNothing(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can be another user, so it is not shown here that another user is refused")
	}
	dir, lines := approving(t, "")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	r, err := s.CallTool(t.Context(), resumed(pending{}))
	mine := parked(t, r, err)
	state := filepath.Join(dir, ".toolwharf")
	socket := filepath.Join(state, "control.sock")

	// Even where the way to it is open, what is there is not.
	file := filepath.Join(dir, "toolwharf.yaml")
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Chmod(file, 0o644), os.Chmod(state, 0o755)); err != nil {
		t.Fatal(err)
	}
	decides := func() string {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return fmt.Sprint("no connection: ", err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "GET /v1/approvals/%s HTTP/1.1\r\nHost: control\r\n\r\n", mine.approval)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			return fmt.Sprint("no answer: ", err)
		}
		return line
	}
	if said := decides(); !strings.HasPrefix(said, "HTTP/1.1 200") {
		t.Fatalf("the host's own user: %s", said)
	}
	asNobody(t, func() {
		entries, err := os.ReadDir(state)
		if err != nil {
			t.Errorf("the state directory: %v", err)
		}
		for _, e := range entries {
			at := filepath.Join(state, e.Name())
			if e.IsDir() || e.Name() == "ledger.key.pub" { // which is for everybody to verify by
				at = filepath.Join(at, "x")
			}
			if f, err := os.Open(at); err == nil {
				_ = f.Close()
				t.Errorf("%s can be read", at)
			}
			if f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
				_ = f.Close()
				t.Errorf("%s can be written", at)
			}
		}
		if said := decides(); !strings.HasPrefix(said, "no connection") {
			t.Errorf("by its mode: %s", said)
		}
	})
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		if said := decides(); !strings.HasPrefix(said, "no answer") {
			t.Errorf("by who it is: %s", said)
		}
	})
	for _, args := range [][]string{
		{"approvals", "approve", mine.approval},
		{"approvals", "show", mine.approval},
		{"approvals", "list"},
		{"ledger", "tail"},
		{"tools", "call", "echo_append_line", "--args", `{"line":"x","n":1}`, "--yes"},
	} {
		cmd := exec.Command(toolwharf, append(args, "-c", file)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil || strings.Contains(string(out), mine.approval) && args[1] == "list" {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
	if got := ran(t, lines); len(got) > 0 {
		t.Fatalf("it ran: %q", got)
	}
	stdout, stderr, code := run(t, dir, "approvals", "show", mine.approval, "--json")
	if code != 0 || !strings.Contains(stdout, `"status": "pending"`) {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}
