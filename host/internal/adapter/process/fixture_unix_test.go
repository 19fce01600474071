//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// bound is how long something may take that a busy machine does late.
const bound = 30 * time.Second

// mode is what the test binary is to be when a test starts it again.
const mode = "PROCESS_TEST_MODE"

func TestMain(m *testing.M) {
	if act, ok := roles[os.Getenv(mode)]; ok {
		act()
		return
	}
	goleak.VerifyTestMain(m)
}

// roles of the test binary when it is started again, by mode.
var roles = map[string]func(){}

// script is an executable of /bin/sh.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// running is a started process whose pipes are read, as go-plugin reads them.
type running struct {
	*Process

	// lines of stdout, closed at its end: the first one, and what was written
	// together with it.
	lines <-chan string
}

// start starts a process that is ended with the test.
func start(t *testing.T, spec Spec) *running {
	t.Helper()
	p := New(spec)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	read := make(chan struct{}, 2)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(p.Stdout()); s.Scan(); {
			lines <- s.Text()
		}
		read <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(io.Discard, p.Stderr())
		read <- struct{}{}
	}()
	t.Cleanup(func() {
		if err := p.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		<-read
		<-read
	})
	return &running{p, lines}
}

// sh starts a script.
func sh(t *testing.T, body string) *running {
	t.Helper()
	return start(t, Spec{Path: script(t, body), Env: []string{"PATH=/usr/bin:/bin"}})
}

// line is the next line of stdout.
func (r *running) line(t *testing.T) string {
	t.Helper()
	select {
	case l, open := <-r.lines:
		if !open {
			t.Fatalf("stdout has ended; the process %q, its last words %q", r.Exit(), r.LastWords())
		}
		return l
	case <-time.After(bound):
		t.Fatal("no line on stdout")
		return ""
	}
}

// rest is everything else on stdout.
func (r *running) rest(t *testing.T) []string {
	t.Helper()
	var all []string
	late := time.After(bound)
	for {
		select {
		case l, open := <-r.lines:
			if !open {
				return all
			}
			all = append(all, l)
		case <-late:
			t.Fatalf("stdout has no end after %q", all)
		}
	}
}

// ends waits for the end of the process.
func (r *running) ends(t *testing.T) {
	t.Helper()
	select {
	case <-r.Done():
	case <-time.After(bound):
		t.Fatal("the process has not ended")
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if r.Settled(ctx); ctx.Err() != nil {
		t.Error("its stderr has no end")
	}
}

// number is a line that is one.
func number(t *testing.T, line string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// lives reports whether there is such a process and it has not ended. One that
// has ended and was not waited for is a zombie.
func lives(pid int) (alive, zombie bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return unix.Kill(pid, 0) == nil && !hasProc(), false
	}
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), " ")
	zombie = strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
	return !zombie, zombie
}

func hasProc() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// expectEnd waits until a process has ended. It may be a zombie of whoever
// inherited it.
func expectEnd(t *testing.T, what string, pid int) {
	t.Helper()
	for late := time.Now().Add(bound); ; time.Sleep(5 * time.Millisecond) {
		if alive, _ := lives(pid); !alive {
			return
		}
		if time.Now().After(late) {
			t.Errorf("%s (process %d) lives on", what, pid)
			return
		}
	}
}
