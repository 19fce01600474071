// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The tests whose names end with FileProtocol are about what is read from and
// written to files: the files are ordinary ones. That the kernel does what they say
// is TestTheKernelHoldsAGroupToItsMemory.

// files is a directory as the kernel would have it.
func files(t *testing.T, dir string, content map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tree is one of ordinary files, in which this process is.
func tree(t *testing.T) *Tree {
	t.Helper()
	tr := &Tree{dir: filepath.Join(t.TempDir(), "own"), self: os.Getpid(), rmdir: os.RemoveAll}
	tr.mkdir = func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		files(t, dir, map[string]string{
			"cgroup.procs": "", "memory.max": "max", "memory.swap.max": "max", "memory.oom.group": "0", "pids.max": "max", "cgroup.kill": "", "cgroup.events": "populated 0\n",
		})
		return nil
	}
	files(t, tr.dir, map[string]string{
		"cgroup.controllers": "cpu memory pids\n", "cgroup.type": "domain\n", "cgroup.subtree_control": "\n", "cgroup.procs": fmt.Sprintf("%d\n", os.Getpid()),
	})
	return tr
}

func content(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestWhereTheOwnCgroupLiesFileProtocol(t *testing.T) {
	const hybrid = "32 25 0:29 / /sys/fs/cgroup/memory rw - cgroup none rw,memory\n33 25 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 none rw\n"
	for name, tc := range map[string]struct {
		own, mounts, dir string
		top              bool
		fault            string
	}{
		"a service":                 {own: "0::/system.slice/toolwharf.service\n", mounts: "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 none rw,nsdelegate\n", dir: "/sys/fs/cgroup/system.slice/toolwharf.service"},
		"a container":               {own: "0::/\n", mounts: "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", dir: "/sys/fs/cgroup", top: true},
		"v1 beside it":              {own: "4:memory:/x\n0::/a\n", mounts: hybrid, dir: "/sys/fs/cgroup/unified/a"},
		"a part that is mounted":    {own: "0::/docker/abc/x\n", mounts: "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n", dir: "/sys/fs/cgroup/x"},
		"another part":              {own: "0::/docker/abd\n", mounts: "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n", fault: "mounted nowhere"},
		"v1":                        {own: "4:memory:/x\n", mounts: hybrid, fault: "no cgroup v2"},
		"not mounted":               {own: "0::/\n", mounts: "1 1 0:1 / / rw - ext4 /dev/x rw\nno mount\n", fault: "mounted nowhere"},
		"a blank":                   {own: "0::/\n", mounts: `30 23 0:26 / /sys/fs/c\040group rw - cgroup2 cgroup rw` + "\n", dir: "/sys/fs/c group", top: true},
		"beyond a cgroup namespace": {own: "0::/../other\n", mounts: "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", fault: "mounted nowhere"},
	} {
		dir, top, err := locate(tc.own, tc.mounts)
		if tc.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("%s: %s %v", name, dir, err)
			}
			continue
		}
		if err != nil || dir != tc.dir || top != tc.top {
			t.Errorf("%s: %s %v %v", name, dir, top, err)
		}
	}
}

func FuzzAnyListOfMountsLeadsToADirectoryOrAnError(f *testing.F) {
	f.Add("0::/a\n", "33 25 0:30 / /sys/fs/cgroup rw - cgroup2 none rw\n")
	f.Fuzz(func(t *testing.T, own, mounts string) {
		if dir, _, err := locate(own, mounts); err == nil && dir == "" {
			t.Error("nowhere")
		}
	})
}

func TestACgroupThatWasNotGivenToTheHostIsLeftAloneAndItIsSaidWhyFileProtocol(t *testing.T) {
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	for name, tc := range map[string]struct {
		spoil     func(tr *Tree) error
		top, root bool
		want      string
	}{
		"of a container":      {top: true, root: true},
		"of a delegated user": {},
		"of the machine":      {func(tr *Tree) error { return os.Remove(filepath.Join(tr.dir, "cgroup.type")) }, true, true, "root of all cgroups"},
		"without controllers": {
			func(tr *Tree) error {
				return os.WriteFile(filepath.Join(tr.dir, "cgroup.controllers"), []byte("cpu pids\n"), 0o600)
			},
			true, true, "no controllers for memory",
		},
		"of root and not delegated": {nil, false, true, "has not delegated it; systemd does by Delegate=yes"},
		"that others are in": {
			func(tr *Tree) error {
				return os.WriteFile(filepath.Join(tr.dir, "cgroup.procs"), fmt.Appendf(nil, "%d\n%d\n", os.Getpid(), os.Getppid()), 0o600)
			},
			true, true, fmt.Sprintf("process %d is in its cgroup too", os.Getppid()),
		},
		"with what the host has started": {
			func(tr *Tree) error {
				return os.WriteFile(filepath.Join(tr.dir, "cgroup.procs"), fmt.Appendf(nil, "%d\n%d\n", os.Getpid(), other.Process.Pid), 0o600)
			},
			true, true, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tree(t)
			if tc.spoil != nil {
				if err := tc.spoil(tr); err != nil {
					t.Fatal(err)
				}
			}
			err := tr.given(tc.top, tc.root)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if got := content(t, tr.dir, "cgroup.subtree_control"); got != "" {
				t.Errorf("it was divided: %q", got)
			}
		})
	}
}

func TestTheHostMovesToALeafBeforeItDividesItsCgroupFileProtocol(t *testing.T) {
	tr := tree(t)
	if err := tr.Divide(); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, tr.dir, host, "cgroup.procs"), fmt.Sprint(os.Getpid()); got != want {
		t.Errorf("in the leaf: %q, want %s", got, want)
	}
	if got := content(t, tr.dir, "cgroup.subtree_control"); got != "+memory +pids" {
		t.Errorf("%q", got)
	}
	t.Run("which is done once", func(t *testing.T) {
		files(t, tr.dir, map[string]string{"cgroup.subtree_control": "memory pids\n"}) // as the kernel says it
		tr.mkdir = func(string) error { return errors.New("it is divided already") }
		if err := tr.Divide(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheLimitsOfAGroupAreWrittenBeforeAnythingRunsInItFileProtocol(t *testing.T) {
	tr := tree(t)
	g, err := tr.Group("orders", Limits{Memory: 512 << 20, Tasks: 1024})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"memory.max": "536870912", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "1024", "cgroup.procs": "", "cgroup.kill": "",
	} {
		if got := content(t, g.dir, file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	var at unix.Stat_t
	if err := unix.Fstat(g.FD(), &at); err != nil || at.Mode&unix.S_IFMT != unix.S_IFDIR {
		t.Errorf("a process cannot be started into it: %v", err)
	}
	other, err := tr.Group("orders", Limits{Memory: 1 << 20, Tasks: 1})
	if err != nil || other.dir == g.dir {
		t.Errorf("the next process of the adapter: %v", err)
	}
	killed := ""
	tr.rmdir = func(dir string) error { killed = content(t, dir, "cgroup.kill"); return os.RemoveAll(dir) }
	if err := g.End(); err != nil || killed != "1" {
		t.Errorf("%v, kill %q", err, killed)
	}
	if _, err := os.Stat(g.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	tr.rmdir = os.RemoveAll
	t.Run("and a group that cannot be limited is none", func(t *testing.T) {
		tr.mkdir = func(dir string) error { return os.Mkdir(dir, 0o755) } // without what limits it
		if g, err := tr.Group("bare", Limits{Memory: 1 << 20, Tasks: 1}); err == nil {
			t.Error(g)
		}
		if left, _ := filepath.Glob(filepath.Join(tr.dir, prefix+"bare*")); left != nil {
			t.Error(left)
		}
	})
	t.Run("and what a host that was killed has left is removed", func(t *testing.T) {
		tr.Sweep()
		if left, _ := filepath.Glob(filepath.Join(tr.dir, prefix+"*")); left != nil {
			t.Error(left)
		}
	})
}

// The kernel itself, where it gives this process a part of cgroup v2 with its
// controllers.
func TestTheKernelHoldsAGroupToItsMemory(t *testing.T) {
	tr, err := Look()
	if err != nil {
		t.Skip("NOT TESTED HERE, only its file protocol: ", err)
	}
	if err := tr.Divide(); err != nil {
		t.Fatal(err)
	}
	g, err := tr.Group("test", Limits{Memory: 32 << 20, Tasks: 100})
	if err != nil {
		t.Fatal(err)
	}
	hog := exec.Command("sh", "-c", "x=x; while :; do x=$x$x; done")
	hog.SysProcAttr = &unix.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	if err := hog.Run(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("it took all memory and ended by %v", err)
	}
	if err := g.End(); err != nil {
		t.Error(err)
	}
}
