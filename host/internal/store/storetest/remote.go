// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

// obey does what in says, a line each, and answers each on a line: "ok" and what
// there is to say, or "no" and the error.
func obey(s Store, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, "ok "+s.Host()); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		said, err := do(s, strings.Fields(lines.Text()))
		answer := "ok " + said
		if err != nil {
			answer = "no " + nameOf(err)
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// do does one thing.
func do(s Store, words []string) (string, error) {
	ctx := context.Background()
	verb, words := words[0], append(words[1:], "", "")
	switch verb {
	case "ask":
		r, err := s.Ask(ctx, asked(words[0]), time.Hour, approval.Quota{})
		if err != nil {
			return "", err
		}
		return r.ID, nil
	case "approve":
		_, err := s.Decide(ctx, words[0], approval.Decision{Approve: true, By: "operator"})
		return "", err
	case "await":
		return "", s.Await(ctx, words[0])
	case "begin":
		return "", s.Begin(ctx, spends(words[0], words[1]))
	case "count": // as often as it may
		n, err := countAll(s, words[0], words[1])
		return strconv.Itoa(n), err
	case "end":
		return "", s.End(ctx, record(words[0]))
	case "cycle": // everything that a call with an approval does, for ever
		return "", cycle(s, words[0])
	default:
		return "", errors.New("what is " + strconv.Quote(verb))
	}
}

// cycle asks for, decides, spends and ends approvals until the process is
// killed.
func cycle(s Store, name string) error {
	ctx := context.Background()
	for i := 0; ; i++ {
		call := callName(name, i)
		r, err := s.Ask(ctx, asked(call), time.Hour, approval.Quota{})
		if err != nil {
			return err
		}
		if _, err = s.Decide(ctx, r.ID, approval.Decision{Approve: true, By: "operator"}); err != nil {
			return err
		}
		in := spends(call, r.ID)
		in.Round, in.RoundUntil = "round_"+call, time.Now().Add(time.Hour)
		in.Charges = charges(1, 0)
		if err = s.Begin(ctx, in); err != nil {
			return err
		}
		if err := s.End(ctx, settled(call, 2)); err != nil {
			return err
		}
	}
}

// nameOf is how an error travels.
func nameOf(err error) string {
	var status *approval.StatusError
	switch {
	case errors.As(err, &status):
		return string(status.Status) + " " + strconv.FormatBool(status.Running)
	case errors.Is(err, approval.ErrNone):
		return "none"
	case errors.Is(err, executor.ErrRoundSpent):
		return "round"
	case errors.Is(err, store.ErrBegun):
		return "begun"
	default:
		return err.Error()
	}
}

// remote starts a child that does what it is told, and dies at fault.
func remote(tb testing.TB, location string, o Opening, fault string) *child {
	tb.Helper()
	c := newChild(tb, location, o)
	c.cmd.Env = append(c.cmd.Env, envFault+"="+fault)
	in, err := c.cmd.StdinPipe()
	must(tb, err)
	c.in = in
	c.start(tb)
	return c
}

// say tells a child what to do.
func (c *child) say(tb testing.TB, words ...string) {
	tb.Helper()
	_, err := io.WriteString(c.in, strings.Join(words, " ")+"\n")
	must(tb, err)
}

// ask tells a child what to do and returns the answer.
func (c *child) ask(tb testing.TB, words ...string) string {
	tb.Helper()
	c.say(tb, words...)
	return c.hear(tb)
}

// leave lets a child close its store and end.
func (c *child) leave(tb testing.TB) {
	tb.Helper()
	must(tb, c.in.Close())
	c.rest(tb)
	c.succeed(tb)
}
