// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// prefix is what the cgroups of adapters are called, with the adapter's name and a
// number.
const prefix = "toolwharf-adapter-"

// Group is the cgroup of one process and all that it starts.
type Group struct {
	tree *Tree
	dir  string
	file *os.File
}

// Group makes one. If the memory does not do, all of the group ends.
func (t *Tree) Group(adapter string, l Limits) (*Group, error) {
	g := &Group{tree: t, dir: filepath.Join(t.dir, fmt.Sprintf("%s%s-%d-%d", prefix, adapter, t.self, t.made.Add(1)))}
	if err := t.mkdir(g.dir); err != nil {
		return nil, err
	}
	err := errors.Join(
		write(g.dir, "memory.max", strconv.FormatInt(l.Memory, 10)),
		write(g.dir, "memory.oom.group", "1"),
		write(g.dir, "pids.max", strconv.Itoa(l.Tasks)),
	)
	if e := write(g.dir, "memory.swap.max", "0"); !errors.Is(e, fs.ErrNotExist) { // a machine without swap has none
		err = errors.Join(err, e)
	}
	if err == nil {
		g.file, err = os.Open(g.dir)
	}
	if err != nil {
		return nil, errors.Join(err, t.rmdir(g.dir))
	}
	return g, nil
}

// FD is what a process is started into the group by.
func (g *Group) FD() int { return int(g.file.Fd()) }

// endTime bounds how long the end of a group may take.
const endTime = 5 * time.Second

// End ends all that is left in the group, and removes it.
func (g *Group) End() error {
	_ = g.file.Close()
	if err := write(g.dir, "cgroup.kill", "1"); err != nil && !errors.Is(err, fs.ErrNotExist) { // Linux 5.14 and newer; the guardian has ended them already
		return err
	}
	for late := time.Now().Add(endTime); g.populated() && time.Now().Before(late); time.Sleep(time.Millisecond) {
	}
	return g.tree.rmdir(g.dir)
}

func (g *Group) populated() bool {
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.events"))
	return err == nil && strings.Contains(string(text), "populated 1")
}

// Sweep removes what hosts that were killed have left: the kernel lets nothing go
// that anything runs in.
func (t *Tree) Sweep() {
	left, _ := filepath.Glob(filepath.Join(t.dir, prefix+"*"))
	for _, dir := range left {
		_ = t.rmdir(dir)
	}
}
