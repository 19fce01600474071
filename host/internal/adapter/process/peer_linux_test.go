// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
)

// The roles serve a socket, or start a process that does.
func init() {
	roles["serve"] = func() {
		l, err := net.Listen("unix", os.Getenv("SOCKET"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		for {
			if _, err := l.Accept(); err != nil {
				os.Exit(1)
			}
		}
	}
	roles["serve by another"] = func() {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), mode+"=serve")
		cmd.Stdout = os.Stdout
		_ = cmd.Run()
	}
}

func TestOnlyTheProcessOrWhatItStartedMayServeItsSocket(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"serve", "serve by another"} {
		t.Run(role, func(t *testing.T) {
			dir := socketDir(t)
			path := filepath.Join(dir, "plugin.sock")
			r := start(t, Spec{Path: self, SocketDir: dir, Env: []string{mode + "=" + role, "SOCKET=" + path}})
			if got := r.line(t); got != "ready" {
				t.Fatal(got)
			}
			if _, _, err := r.PluginToHost("unix", path); err != nil {
				t.Fatal(err)
			}
			conn, err := r.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
		})
	}
	t.Run("somebody else serves", func(t *testing.T) {
		dir := socketDir(t)
		path := filepath.Join(dir, "plugin.sock")
		listen(t, path) // this process: the host itself, which the plugin has not started
		p := sh(t, `echo ready; sleep 1000`)
		p.line(t)
		p.spec.SocketDir = dir
		if _, _, err := p.PluginToHost("unix", path); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("process %d is at the other end, which the plugin (%d) has not started", os.Getpid(), p.PID())
		if conn, err := p.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dialled %v, %v; want %q", conn, err, want)
		}
	})
}

func TestDescent(t *testing.T) {
	r := sh(t, `sh -c 'echo $$; sleep 1000; true'`)
	grandchild := number(t, r.line(t))
	for name, tc := range map[string]struct {
		pid, ancestor int
		want          bool
	}{
		"itself":                        {r.PID(), r.PID(), true},
		"a child":                       {r.PID(), os.Getpid(), true},
		"a grandchild":                  {grandchild, os.Getpid(), true},
		"the parent of the ancestor":    {os.Getpid(), r.PID(), false},
		"the first process":             {1, os.Getpid(), false},
		"of the kernel":                 {0, os.Getpid(), false},
		"one that there is not":         {1 << 30, os.Getpid(), false},
		"everybody, of the first there": {os.Getpid(), 1, true},
	} {
		if got := guardian.Descends(tc.pid, tc.ancestor); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
