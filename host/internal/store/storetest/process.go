// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A child is this test binary once more, told by these variables to write.
const (
	envLocation = "TOOLWHARF_STORETEST_LOCATION"
	envName     = "TOOLWHARF_STORETEST_NAME"
	envRows     = "TOOLWHARF_STORETEST_ROWS"  // write so many; absent: do as told on stdin
	envLease    = "TOOLWHARF_STORETEST_LEASE" // in milliseconds
	envFault    = "TOOLWHARF_STORETEST_FAULT" // where to die
)

const (
	childCallers = 8
	forever      = 0
)

// Main runs the tests of m and returns the exit status; in a child of the
// suite it writes to the store that open opens instead.
func Main(m *testing.M, open Opener) int {
	location := os.Getenv(envLocation)
	if location == "" {
		return m.Run()
	}
	if err := childMain(location, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func childMain(location string, open Opener) error {
	lease, err := strconv.Atoi(os.Getenv(envLease))
	if err != nil {
		return err
	}
	o := Opening{Lease: time.Duration(lease) * time.Millisecond, Fault: die(os.Getenv(envFault))}
	s, err := open(location, o.whole())
	if err != nil {
		return err
	}
	if os.Getenv(envRows) == "" {
		return errors.Join(obey(s, os.Stdin, os.Stdout), s.Close(context.Background()))
	}
	return writeMain(s)
}

// writeMain writes rows with several callers and says on stdout what each was
// told, when it was told.
func writeMain(s Store) error {
	rows, err := strconv.Atoi(os.Getenv(envRows))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	wait := together(numbered(os.Getenv(envName), childCallers), func(caller string) error {
		return write(s, caller, rows, func(what string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(os.Stdout, what)
		})
	})
	return errors.Join(errors.Join(wait()...), s.Close(context.Background()))
}

// write begins and ends calls one after the other.
func write(s Store, caller string, rows int, say func(string)) error {
	for i := 0; rows == forever || i < rows; i++ {
		call := callName(caller, i)
		if err := s.Begin(context.Background(), durable(call)); err != nil {
			return err
		}
		say("begun " + call)
		if err := s.End(context.Background(), record(call)); err != nil {
			return err
		}
		say("ended " + call)
	}
	return nil
}

func callName(caller string, i int) string { return caller + "_" + strconv.Itoa(i) }

// child is a process on the store.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser // nil: it is not told what to do
	out    *bufio.Scanner
	stderr strings.Builder
}

// spawn starts a child that writes. It is killed when the test ends.
func spawn(tb testing.TB, location, name string, rows int) *child {
	tb.Helper()
	c := newChild(tb, location, Opening{})
	c.cmd.Env = append(c.cmd.Env, envName+"="+name, envRows+"="+strconv.Itoa(rows))
	c.start(tb)
	return c
}

func newChild(tb testing.TB, location string, o Opening) *child {
	tb.Helper()
	c := &child{cmd: exec.CommandContext(tb.Context(), os.Args[0])}
	c.cmd.Env = append(os.Environ(), envLocation+"="+location,
		envLease+"="+strconv.FormatInt(o.whole().Lease.Milliseconds(), 10))
	c.cmd.Stderr = &c.stderr
	return c
}

func (c *child) start(tb testing.TB) {
	tb.Helper()
	out, err := c.cmd.StdoutPipe()
	must(tb, err)
	c.out = bufio.NewScanner(out)
	c.out.Split(wholeLines)
	must(tb, c.cmd.Start())
}

// hear returns the next thing that the child says.
func (c *child) hear(tb testing.TB) string {
	tb.Helper()
	if !c.out.Scan() {
		err := c.cmd.Wait()
		tb.Fatalf("the child ended: %v: %s", err, c.stderr.String())
	}
	return c.out.Text()
}

// rest returns all that the child says until it ends.
func (c *child) rest(tb testing.TB) []string {
	tb.Helper()
	var lines []string
	for c.out.Scan() {
		lines = append(lines, c.out.Text())
	}
	must(tb, c.out.Err())
	return lines
}

// wholeLines is bufio.ScanLines without a last line that a kill has cut off.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if advance, token, err = bufio.ScanLines(data, false); atEOF && advance == 0 {
		return len(data), nil, err
	}
	return advance, token, err
}

func (c *child) kill(tb testing.TB) {
	tb.Helper()
	must(tb, c.cmd.Process.Kill())
}

// reap waits for a child that was killed.
func (c *child) reap(tb testing.TB) {
	tb.Helper()
	if err := c.cmd.Wait(); err == nil {
		tb.Error("the child ended by itself")
	}
	if said := c.stderr.String(); said != "" {
		tb.Errorf("the child did not die: %s", said)
	}
}

// succeed fails unless the child has ended well.
func (c *child) succeed(tb testing.TB) {
	tb.Helper()
	if err := c.cmd.Wait(); err != nil {
		tb.Errorf("child: %v: %s", err, c.stderr.String())
	}
}
