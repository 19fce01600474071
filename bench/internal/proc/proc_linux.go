// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of processor time in /proc: USER_HZ is 100 on every
// architecture that Go supports.
const tick = time.Second / 100

// Tree lists the process pid and its descendants. It is empty when there is no
// such process.
func Tree(pid int) []Process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	started := map[int]uint64{}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, ok := read(id); ok {
			children[s.parent] = append(children[s.parent], id)
			started[id] = s.start
		}
	}
	if _, ok := started[pid]; !ok {
		return nil
	}
	tree := []Process{{pid, started[pid]}}
	for i := 0; i < len(tree); i++ {
		for _, id := range children[tree[i].PID] {
			tree = append(tree, Process{id, started[id]})
		}
	}
	return tree
}

// Measure sums up what these processes have used so far. A process that has
// ended counts nothing, so take the list and the difference within one burst.
func Measure(tree []Process) (u Usage, ok bool) {
	for _, p := range tree {
		if s, alive := read(p.PID); alive && s.start == p.start {
			u.CPU += s.cpu
			u.RSS += s.rss
			ok = true
		}
	}
	return u, ok
}

// PSS is the proportional set size of these processes in bytes: of pages that they
// share with others, their share. 0: of one of them it is not to be had.
func PSS(tree ...Process) int64 {
	var sum int64
	for _, p := range tree {
		n := pss(p)
		if n == 0 {
			return 0
		}
		sum += n
	}
	return sum
}

func pss(p Process) int64 {
	if s, ok := read(p.PID); !ok || s.start != p.start {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.PID))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("\nPss:"))
	f := bytes.Fields(rest)
	if len(f) < 2 || string(f[1]) != "kB" {
		return 0
	}
	kb, err := strconv.ParseInt(string(f[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

// Alive returns those of the processes that still run; a zombie does not.
func Alive(tree []Process) []Process {
	var alive []Process
	for _, p := range tree {
		if s, ok := read(p.PID); ok && s.start == p.start && s.state != 'Z' {
			alive = append(alive, p)
		}
	}
	return alive
}

type stat struct {
	state  byte
	parent int
	cpu    time.Duration
	start  uint64
	rss    int64
}

func read(pid int) (stat, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}
	return parse(b)
}

// parse reads a line of proc_pid_stat(5). The name in parentheses may hold
// spaces and parentheses itself, so fields are counted from the last one; the
// first after it is the third of the manual.
func parse(b []byte) (s stat, ok bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return stat{}, false
	}
	f := bytes.Fields(b[i+1:])
	const state, parent, utime, stime, start, rss = 3, 4, 14, 15, 22, 24
	if len(f) < rss-2 {
		return stat{}, false
	}
	ok = true
	number := func(field int) int64 {
		n, err := strconv.ParseInt(string(f[field-3]), 10, 64)
		ok = ok && err == nil
		return n
	}
	s = stat{
		state:  f[state-3][0],
		parent: int(number(parent)),
		cpu:    time.Duration(number(utime)+number(stime)) * tick,
		start:  uint64(number(start)), //nolint:gosec // never negative
		rss:    number(rss) * int64(os.Getpagesize()),
	}
	return s, ok
}
