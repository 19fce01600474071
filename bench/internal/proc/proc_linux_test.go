// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestParseCountsFieldsFromTheLastParenthesis(t *testing.T) {
	line := "42 (a) b (c) R 7 42 42 0 -1 4194560 100 200 0 0 12 30 5 6 20 0 4 0 98765 1234567 300 18446744073709551615 1 1\n"
	got, ok := parse([]byte(line))
	want := stat{state: 'R', parent: 7, cpu: 420 * time.Millisecond, start: 98765, rss: 300 * int64(os.Getpagesize())}
	if !ok || got != want {
		t.Errorf("got %+v, %v; want %+v", got, ok, want)
	}
	for _, bad := range []string{"", "42 name R 7", "42 (name) R 7", "42 (n) R x 1 1 0 -1 1 1 1 0 0 1 1 1 1 20 0 4 0 9 1 3 1"} {
		if _, ok := parse([]byte(bad)); ok {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestTreeHasTheChildrenUntilTheyEnd(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	tree := Tree(os.Getpid())
	if tree[0].PID != os.Getpid() {
		t.Errorf("tree begins with %d, not with its root %d", tree[0].PID, os.Getpid())
	}
	i := slices.IndexFunc(tree, func(p Process) bool { return p.PID == child.Process.Pid })
	if i < 0 {
		t.Fatalf("child %d is not in %v", child.Process.Pid, tree)
	}
	if u, ok := Measure(tree[:1]); !ok || u.RSS == 0 {
		t.Errorf("this process uses %+v, %v", u, ok)
	}
	if pss := PSS(tree[0]); pss <= 0 || pss > 1<<40 {
		t.Errorf("this process has a PSS of %d", pss)
	}
	if pss := PSS(tree[0], Process{PID: tree[0].PID, start: 1}); pss != 0 {
		t.Errorf("with one that has ended the PSS is %d", pss)
	}
	if got := Alive(tree[i : i+1]); len(got) != 1 {
		t.Error("a running child is not alive")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if got := Alive(tree[i : i+1]); len(got) != 0 {
		t.Errorf("an ended child is alive: %v", got)
	}
}
