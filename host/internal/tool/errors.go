// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind is what went wrong: one list for results, ledger, metrics and SDKs.
type Kind string

// The kinds.
const (
	// ArgsInvalid: the arguments cannot be right.
	ArgsInvalid Kind = "args_invalid"
	// Denied by a rule or a hook.
	Denied Kind = "denied"
	// ApprovalDenied by the mode, a person, or because none was asked.
	ApprovalDenied Kind = "approval_denied"
	// ApprovalPending: an operator has to decide first.
	ApprovalPending Kind = "approval_pending"
	// RateLimited: too many calls, now.
	RateLimited Kind = "rate_limited"
	// BudgetExceeded: too many calls in this run.
	BudgetExceeded Kind = "budget_exceeded"
	// ToolError is said by the adapter to the model.
	ToolError Kind = "tool_error"
	// ToolFailed is a fault; its detail is for log and ledger only.
	ToolFailed Kind = "tool_failed"
	// Timeout: the deadline passed.
	Timeout Kind = "timeout"
	// Cancelled by the caller.
	Cancelled Kind = "cancelled"
	// AdapterUnavailable: there is nothing to run it on.
	AdapterUnavailable Kind = "adapter_unavailable"
	// OutcomeUnknown: it may have had its effects.
	OutcomeUnknown Kind = "outcome_unknown"
	// ResultTooLarge: it ran, the result cannot be given.
	ResultTooLarge Kind = "result_too_large"
	// OutputInvalid: it ran, the result does not match its schema.
	OutputInvalid Kind = "output_invalid"
)

// Ran says whether a failed call had effects.
type Ran string

// RanUnset: judged by Error.Sent and the tool's effects.
const (
	RanUnset   Ran = ""
	RanNo      Ran = "no"
	RanYes     Ran = "yes"
	RanUnknown Ran = "unknown"
)

// Error is a call that did not succeed.
type Error struct {
	Kind Kind
	// Code is stable, for programs: [a-z][a-z0-9_]*.
	Code string
	// Text is for the model. It never holds a secret, a path of the host or a
	// stack trace.
	Text string
	// Detail is for the operator: log and ledger only.
	Detail string
	// RetryAfter, if not zero, is when it may be worth trying again.
	RetryAfter time.Duration
	// Sent: the adapter may have acted.
	Sent bool
	// Ran, if set, is the adapter's own word on whether it acted.
	Ran Ran
	// Needs is one JSON object: the MCP client capabilities that the client would
	// have to declare. Nil: that is not what is wrong.
	Needs json.RawMessage
	// Link, if not nil, is where the caller finds the result that is too large.
	Link *Link
	// Unrecorded: the call may have run and the ledger does not say so yet.
	Unrecorded bool
	// Err is the cause, if there is one.
	Err error
}

// Error returns everything, for logs; models see Text only.
func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error of this kind and code whose text is for the model.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Text: fmt.Sprintf(format, args...)}
}

// Failed returns a fault: the model sees the class, the operator the cause.
func Failed(class string, err error) *Error {
	return &Error{Kind: ToolFailed, Code: class, Text: "tool_failed: " + class, Err: err}
}

// AsError returns err as an *Error; anything else is a fault of class
// "internal". Nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Failed("internal", err)
}

// ProtocolError ends a request with a JSON-RPC error in place of a result. It
// is the cause of an *Error where an adapter asked for one.
type ProtocolError struct {
	Code    int32
	Message string
	Data    json.RawMessage
}

// Error returns the message.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("protocol error %d: %s", e.Code, e.Message)
}

// Interrupted returns why ctx ended, as an error of kind Timeout or Cancelled.
func Interrupted(ctx context.Context, doing string) *Error {
	kind, code, what := Cancelled, "cancelled", "cancelled"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind, code, what = Timeout, "timeout", "timed out"
	}
	return &Error{Kind: kind, Code: code, Text: what + " while " + doing, Err: context.Cause(ctx)}
}
