// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A child is this test binary once more, told by these variables to write.
const (
	envLocation = "TOOLWHARF_STORETEST_LOCATION"
	envName     = "TOOLWHARF_STORETEST_NAME"
	envRows     = "TOOLWHARF_STORETEST_ROWS"
)

const (
	childCallers = 8
	forever      = 0
)

// Main runs the tests of m and returns the exit status; in a child of the
// suite it writes to the store that open opens instead.
func Main(m *testing.M, open func(location string) (Store, error)) int {
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

// childMain writes rows with several callers and says on stdout what each was
// told, when it was told.
func childMain(location string, open func(location string) (Store, error)) error {
	rows, err := strconv.Atoi(os.Getenv(envRows))
	if err != nil {
		return err
	}
	s, err := open(location)
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

// child is a process that writes.
type child struct {
	cmd    *exec.Cmd
	out    *bufio.Scanner
	stderr strings.Builder
}

// spawn starts a child, which is killed when the test ends.
func spawn(tb testing.TB, location, name string, rows int) *child {
	tb.Helper()
	c := &child{cmd: exec.CommandContext(tb.Context(), os.Args[0])}
	c.cmd.Env = append(os.Environ(),
		envLocation+"="+location, envName+"="+name, envRows+"="+strconv.Itoa(rows))
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	must(tb, err)
	c.out = bufio.NewScanner(out)
	c.out.Split(wholeLines)
	must(tb, c.cmd.Start())
	return c
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
}

// succeed fails unless the child has ended well.
func (c *child) succeed(tb testing.TB) {
	tb.Helper()
	if err := c.cmd.Wait(); err != nil {
		tb.Errorf("child: %v: %s", err, c.stderr.String())
	}
}
