//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStdinIsEmpty(t *testing.T) {
	r := sh(t, `all=$(cat); read line && all=$line; echo "read: $all"`)
	if got := r.line(t); got != "read: " {
		t.Errorf("it read %q", got)
	}
}

func TestTheEnvironmentIsWhatWasGivenAndNothingElse(t *testing.T) {
	t.Setenv("TOOLWHARF_TEST_SECRET", "of the host")
	want := []string{"A=1", "B=two words", "EMPTY="}
	r := start(t, Spec{Path: "/usr/bin/env", Env: want})
	if got := r.rest(t); !slices.Equal(got, want) {
		t.Errorf("the environment is %q", got)
	}
	none := start(t, Spec{Path: "/usr/bin/env", Env: []string{}})
	if got := none.rest(t); len(got) != 0 {
		t.Errorf("the empty environment is %q", got)
	}
}

func TestTheWorkingDirectoryIsTheOneThatWasGiven(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, Spec{Path: "/bin/pwd", Env: []string{}, Dir: dir})
	if got := r.line(t); got != dir {
		t.Errorf("it works in %s, want %s", got, dir)
	}
}

func TestExitSaysHowTheProcessEnded(t *testing.T) {
	for body, want := range map[string]string{
		"exit 0":     "exit status 0",
		"exit 3":     "exit status 3",
		"kill -9 $$": "signal: killed",
		"kill $$":    "signal: terminated",
	} {
		t.Run(body, func(t *testing.T) {
			r := sh(t, body)
			r.ends(t)
			if got := r.Exit(); got != want {
				t.Errorf("ended with %q, want %q", got, want)
			}
			err := r.Wait(t.Context())
			var exit *exec.ExitError
			if failed := want != "exit status 0"; failed != errors.As(err, &exit) || failed != (err != nil) {
				t.Errorf("Wait: %v", err)
			}
		})
	}
}

func TestAProcessThatRunsHasNotEnded(t *testing.T) {
	r := sh(t, `echo ready; sleep 1000`)
	r.line(t)
	if got := r.Exit(); got != "" {
		t.Errorf("ended with %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	if alive, _ := lives(r.PID()); !alive {
		t.Error("it does not run")
	}
}

func TestWhatCannotBeExecutedSaysSoAndIsNoProcess(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a missing file": text + "x", "a file without the right": text} {
		t.Run(name, func(t *testing.T) {
			p := New(Spec{Path: path})
			if err := p.Start(t.Context()); err == nil {
				t.Error("it was started")
			}
			if p.PID() != 0 || p.Exit() != "" || p.LastWords() != "" || p.FirstLine() != "" {
				t.Errorf("process %d, exit %q", p.PID(), p.Exit())
			}
			if err := p.Kill(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKillEndsTheWholeGroupAndLeavesNoZombie(t *testing.T) {
	r := sh(t, `
		trap "" TERM INT HUP
		sleep 1000 & a=$!
		sh -c 'sleep 1000; true' & b=$!
		echo $a $b
		sleep 1000`)
	family := strings.Fields(r.line(t))
	if err := r.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Exit(); got != "signal: killed" {
		t.Errorf("ended with %q", got)
	}
	if alive, zombie := lives(r.PID()); alive || zombie {
		t.Errorf("after Kill it lives: %v, is a zombie: %v", alive, zombie)
	}
	for _, pid := range family {
		expectEnd(t, "a grandchild", number(t, pid))
	}
	if err := r.Kill(t.Context()); err != nil {
		t.Errorf("killing it again: %v", err)
	}
}

func TestWhatAProcessLeavesBehindEndsWithIt(t *testing.T) {
	r := sh(t, `sleep 1000 & echo $!; exit 0`)
	child := number(t, r.line(t))
	r.ends(t)
	if got := r.Exit(); got != "exit status 0" {
		t.Errorf("ended with %q", got)
	}
	expectEnd(t, "a child that was left behind", child)
	if _, zombie := lives(r.PID()); zombie {
		t.Error("the process is a zombie")
	}
}

func TestAGrandchildThatHoldsThePipesDoesNotHideTheEnd(t *testing.T) {
	left := filepath.Join(t.TempDir(), "left")
	if err := unix.Mkfifo(left, 0o600); err != nil {
		t.Fatal(err)
	}
	// It says that it has left the group, with which it would end.
	r := sh(t, `setsid sh -c 'echo $$ >'`+left+`'; exec sleep 1000' & read pid <`+left+`; echo $pid; echo bye >&2; exit 4`)
	escaped := number(t, r.line(t))
	t.Cleanup(func() { _ = unix.Kill(escaped, unix.SIGKILL) })
	r.ends(t)
	if got := r.Exit(); got != "exit status 4" {
		t.Errorf("ended with %q", got)
	}
	if got := r.rest(t); len(got) != 0 {
		t.Errorf("stdout %q", got)
	}
	if got := r.LastWords(); got != "bye" {
		t.Errorf("last words %q", got)
	}
}

func TestAProcessThatWasKilledBeforeItBeganNeverBegins(t *testing.T) {
	began := filepath.Join(t.TempDir(), "began")
	p := New(Spec{Path: script(t, `touch `+began)})
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "was ended before it began") {
		t.Errorf("Start: %v", err)
	}
	if _, err := os.Stat(began); !os.IsNotExist(err) || p.PID() != 0 {
		t.Error("it was started")
	}
}

func TestStartAndKillAtOnceLeaveNothing(t *testing.T) {
	path := script(t, `sleep 1000`)
	for range 20 {
		p := New(Spec{Path: path, Env: []string{"PATH=/usr/bin:/bin"}})
		killed := make(chan error)
		go func() { killed <- p.Kill(t.Context()) }()
		err := p.Start(t.Context())
		if k := <-killed; k != nil {
			t.Fatal(k)
		}
		if err != nil {
			continue // Kill came first
		}
		select {
		case <-p.Done():
			_ = p.Stdout().Close()
			_ = p.Stderr().Close()
		case <-time.After(bound):
			t.Fatal("it lives on")
		}
	}
}

func TestSettledEndsWithTheContextThoughTheProcessRuns(t *testing.T) {
	r := sh(t, `echo ready; sleep 1000`)
	r.line(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Settled(ctx) // returns
}
