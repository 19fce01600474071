// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
)

// host is the cgroup that the host moves to: one that has children which are
// limited may hold no processes itself.
const host = "toolwharf-host"

// controllers are what has to be there.
var controllers = []string{"memory", "pids"}

// Tree is the part of cgroup v2 that is the host's. Its methods are for one process,
// which is the host.
type Tree struct {
	dir   string
	made  atomic.Int64
	self  int
	mkdir func(string) error // and what the kernel puts into it
	rmdir func(string) error
}

// Look finds the host's part, and changes nothing. An error says why there is none.
func Look() (*Tree, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	dir, top, err := locate(string(own), string(mounts))
	if err != nil {
		return nil, err
	}
	t := &Tree{dir: dir, self: os.Getpid(), mkdir: func(dir string) error { return os.Mkdir(dir, 0o750) }, rmdir: os.Remove}
	return t, t.given(top, os.Geteuid() == 0)
}

// locate is the directory of this process's cgroup, and whether it is the topmost
// that it can see.
func locate(own, mounts string) (dir string, top bool, err error) {
	path, found := "", false
	for line := range strings.Lines(own) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path, found = p, true
		}
	}
	if !found {
		return "", false, errors.New("this machine has no cgroup v2")
	}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		beneath, err := filepath.Rel(fields[3], path)
		if err != nil || strings.HasPrefix(path, "/..") || beneath == ".." || strings.HasPrefix(beneath, "../") {
			continue
		}
		return filepath.Join(unescaped(fields[4]), beneath), path == "/", nil
	}
	return "", false, errors.New("its cgroup v2 is mounted nowhere")
}

// unescaped is a path of mountinfo as it is.
func unescaped(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// given reports, as an error, why the cgroup is not the host's to divide.
func (t *Tree) given(top, root bool) error {
	if err := t.has("cgroup.controllers"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(t.dir, "cgroup.type")); errors.Is(err, fs.ErrNotExist) {
		return errors.New("the host is in the root of all cgroups; run it as a service with Delegate=yes, or in a container")
	}
	if root && !top && !delegated(t.dir) {
		return errors.New("its cgroup is its service manager's, which has not delegated it; systemd does by Delegate=yes")
	}
	for _, file := range []string{".", "cgroup.procs", "cgroup.subtree_control"} {
		if err := unix.Access(filepath.Join(t.dir, file), unix.W_OK); err != nil {
			return fmt.Errorf("its cgroup was not delegated to it (%w); systemd does by Delegate=yes", err)
		}
	}
	_, err := t.crew()
	return err
}

// has reports, as an error, which controllers a list is short of.
func (t *Tree) has(file string) error {
	text, err := os.ReadFile(filepath.Join(t.dir, file))
	if err != nil {
		return err
	}
	var lacks []string
	for _, c := range controllers {
		if !slices.Contains(strings.Fields(string(text)), c) {
			lacks = append(lacks, c)
		}
	}
	if lacks != nil {
		return fmt.Errorf("its cgroup v2 has no controllers for %s; they are v1's, or were not delegated to it", strings.Join(lacks, ", "))
	}
	return nil
}

// delegated reports whether systemd has marked a cgroup as the service's own.
func delegated(dir string) bool {
	for _, mark := range []string{"trusted.delegate", "user.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, mark, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// crew are the processes in the cgroup itself: the host and what it has started, or
// somebody else's, which is an error, since they would have to be moved.
func (t *Tree) crew() ([]int, error) {
	text, err := os.ReadFile(filepath.Join(t.dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for line := range strings.Lines(string(text)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", "cgroup.procs", err)
		}
		if !guardian.Descends(pid, t.self) {
			return nil, fmt.Errorf("process %d is in its cgroup too, and not the host's to move; give the host a service or a container of its own", pid)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// rounds bounds how often what was started meanwhile is moved too.
const rounds = 10

// Divide makes the cgroup one that has limited children: the host, and what it has
// started, moves to one of them.
func (t *Tree) Divide() error {
	if t.has("cgroup.subtree_control") == nil {
		return nil // by a host before this one, or whoever has started it
	}
	leaf := filepath.Join(t.dir, host)
	if err := t.mkdir(leaf); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for range rounds {
		pids, err := t.crew()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if err := write(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		if err := write(t.dir, "cgroup.subtree_control", "+"+strings.Join(controllers, " +")); !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return errors.New("its cgroup has ever new processes")
}

// write writes a file that the kernel has made.
func write(dir, file, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
