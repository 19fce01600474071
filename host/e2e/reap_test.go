// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// runaway installs a plugin that starts processes which leave its group, its
// session and its care, and says in the file where their ids are.
func runaway(t *testing.T, dir, plugins, name string) (program, ids string) {
	t.Helper()
	ids = filepath.Join(dir, name+".ids")
	stay := script(t, dir, name+"-stays", `trap "" TERM HUP INT; echo $$ >>`+ids+`; exec /bin/sleep 1000`)
	return script(t, plugins, name, `PATH=/usr/bin:/bin
setsid sh -c '`+stay+` & sh -c "setsid `+stay+` &" &'
`+stay+` &
exec `+filepath.Join(built, "examples", "hello")), ids
}

// ranAway are the ids of what a runaway has started so far.
func ranAway(t *testing.T, ids string) []int {
	t.Helper()
	var pids []int
	eventually(t, "three processes have run away", func() error {
		text, err := os.ReadFile(ids)
		if err != nil {
			return err
		}
		pids = nil
		for line := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(line)
			if err != nil {
				return err
			}
			pids = append(pids, pid)
		}
		if len(pids) != 3 {
			return fmt.Errorf("%d have", len(pids))
		}
		return nil
	})
	return pids
}

// parent is the process that has started another.
func parent(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNothingThatAPluginHasStartedOutlivesIt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *host, plugin, guardian int, program string) error{
		"when it is killed":       func(_ *host, plugin, _ int, _ string) error { return syscall.Kill(plugin, syscall.SIGKILL) },
		"when it is removed":      func(_ *host, _, _ int, program string) error { return os.Remove(program) },
		"when the host ends":      func(h *host, _, _ int, _ string) error { return h.cmd.Process.Signal(syscall.SIGTERM) },
		"when the host is killed": func(h *host, _, _ int, _ string) error { return h.cmd.Process.Kill() },
		"when its guardian is killed": func(_ *host, _, guardian int, _ string) error {
			return syscall.Kill(guardian, syscall.SIGKILL)
		},
		"when its guardian is stopped and the host is killed": func(h *host, _, guardian int, _ string) error {
			return errors.Join(syscall.Kill(guardian, syscall.SIGSTOP), h.cmd.Process.Kill())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Without a sandbox, which would hold it back.
			dir, plugins := workspace(t, "adapters: {wild: {plugin: wild, sandbox: off}}\n")
			program, ids := runaway(t, dir, plugins, "wild")
			h := serve(t, dir)
			pids := ranAway(t, ids)
			plugin := h.adapters()["wild"].PID
			guardian := parent(t, plugin)
			if err := end(h, plugin, guardian, program); err != nil {
				t.Fatal(err)
			}
			for _, pid := range append(pids, plugin) {
				eventually(t, "no process is left", func() error { return gone(pid) })
			}
			eventually(t, "no guardian is left", func() error { return gone(guardian) })
		})
	}
}

func TestTheHostServesOnWhenAGuardianIsKilled(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "hello", plugins)
	h := serve(t, dir)
	before := h.adapters()["hello"].PID
	if err := syscall.Kill(parent(t, before), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the adapter is there again", func() error {
		if a := h.adapters()["hello"]; a.State != "ready" || a.PID == before {
			return fmt.Errorf("it is %+v", a)
		}
		return nil
	})
}

func TestTheSocketsOfAHostThatWasKilledAreSwept(t *testing.T) {
	t.Parallel()
	tmp, err := os.MkdirTemp("", "tw-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	dir, plugins := workspace(t, "")
	install(t, "hello", plugins)
	h := serveWith(t, dir, toolwharf, "TMPDIR="+tmp)
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host is gone", func() error { return gone(h.cmd.Process.Pid) })
	left, err := filepath.Glob(filepath.Join(tmp, "toolwharf-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("%v is left, %v", left, err)
	}
	next := serveWith(t, dir, toolwharf, "TMPDIR="+tmp)
	eventually(t, "what is left is swept", func() error {
		if _, err := os.Lstat(left[0]); err == nil {
			return fmt.Errorf("%s is there", left[0])
		}
		return nil
	})
	if a := next.adapters()["hello"]; a.State != "ready" { // by control.sock, which was dead too
		t.Errorf("it is %+v", a)
	}
}
