// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// PR_SET_PDEATHSIG fires when the thread that started the child ends, and a
// goroutine that ends while it is locked to its thread ends the thread. The guardian
// takes it as a reason to look whether its host is there.
func TestAProcessOutlivesTheThreadOfTheGoroutineThatStartedIt(t *testing.T) {
	p := New(Spec{Path: script(t, `trap 'echo alive; exit 0' USR1; echo ready; sleep 1000 & wait`), Env: []string{"PATH=/usr/bin:/bin"}})
	thread := make(chan int)
	var starter func()
	starter = func() {
		runtime.LockOSThread() // and never unlocked
		if unix.Gettid() == unix.Getpid() {
			over := make(chan struct{}) // the main thread never ends: try another, and keep this one busy
			go func() {
				defer close(over)
				starter()
			}()
			<-over
			return
		}
		if err := p.Start(context.Background()); err != nil {
			t.Error(err)
		}
		thread <- unix.Gettid()
	}
	go starter()
	tid := <-thread
	if p.PID() == 0 {
		t.FailNow()
	}
	t.Cleanup(func() { _ = p.Kill(context.Background()); _ = p.Stderr().Close() })
	out := bufio.NewReader(p.Stdout())
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	for late := time.Now().Add(bound); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(tid)); os.IsNotExist(err) {
			break
		}
		if time.Now().After(late) {
			t.Fatal("the thread does not end")
		}
	}
	if err := unix.Kill(p.PID(), unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if got := p.Exit(); got != "exit status 0" {
		t.Errorf("the process ended with its starter's thread: %s", got)
	}
}
