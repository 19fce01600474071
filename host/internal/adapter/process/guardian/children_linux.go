// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guardian

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Children are the children of this process, also those that have ended and were
// not waited for.
func Children() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	self := os.Getpid()
	var children []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if parent, ok := Parent(pid); ok && parent == self {
				children = append(children, pid)
			}
		}
	}
	return children
}

// Parent is the process that is the parent of pid.
func Parent(pid int) (parent int, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// "pid (comm) state ppid ...": comm may hold anything, also ")".
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, err == nil
}

// Descends reports whether pid is ancestor or a descendant of it.
func Descends(pid, ancestor int) bool {
	const generations = 32
	for range generations {
		if pid == ancestor {
			return true
		}
		parent, ok := Parent(pid)
		if !ok || parent < 1 {
			return false
		}
		pid = parent
	}
	return false
}
