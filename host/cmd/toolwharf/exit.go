// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/fault"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // what was asked failed
	exitUsage       = 2 // usage or configuration
	exitUnreachable = 3
	exitNotFound    = 4
)

// usageError is a command line that cannot be right.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// absentError is something that was named and that there is not.
type absentError struct{ err error }

func (e *absentError) Error() string { return e.err.Error() }
func (e *absentError) Unwrap() error { return e.err }

// failedError is something that was asked for and failed; it was said already.
type failedError struct{}

func (failedError) Error() string { return "failed" }

// report says what went wrong on stderr, and returns the exit code.
func report(w io.Writer, err error) int {
	var (
		usage  *usageError
		faults fault.List
		absent *control.NotFoundError
		gone   *absentError
		said   failedError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &said):
		return exitFailed
	case errors.As(err, &faults):
		_, _ = fmt.Fprintln(w, faults.Error())
		return exitUsage
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(w, "toolwharf: %v\n", err)
		return exitUsage
	case errors.As(err, &absent):
		_, _ = fmt.Fprintf(w, "toolwharf: %v; see `toolwharf %ss list`\n", err, absent.What)
		return exitNotFound
	case errors.As(err, &gone):
		_, _ = fmt.Fprintf(w, "toolwharf: %v\n", err)
		return exitNotFound
	case errors.Is(err, control.ErrNoHost):
		_, _ = fmt.Fprintf(w, "toolwharf: %v; start one with `toolwharf serve`\n", err)
		return exitUnreachable
	case errors.Is(err, control.ErrUnreachable):
		_, _ = fmt.Fprintf(w, "toolwharf: %v\n", err)
		return exitUnreachable
	case errors.Is(err, context.Canceled):
		_, _ = fmt.Fprintln(w, "toolwharf: interrupted")
		return exitFailed
	default:
		_, _ = fmt.Fprintf(w, "toolwharf: %v\n", err)
		return exitFailed
	}
}
