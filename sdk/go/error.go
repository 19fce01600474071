// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// Kind says what went wrong with a call, as far as a plugin can say it. The
// zero Kind is KindToolFailed.
type Kind string

// The kinds, spelled as they appear in results, the ledger and metrics.
const (
	// KindArgsInvalid: the arguments cannot be right, whatever the schema says.
	KindArgsInvalid Kind = "args_invalid"
	// KindDenied: the adapter's own rules forbid the call.
	KindDenied Kind = "denied"
	// KindToolError: something that the model should know and can act upon: not
	// found, a conflict, an empty answer that matters.
	KindToolError Kind = "tool_error"
	// KindToolFailed: a fault of the plugin or of what lies behind it. The model
	// sees the code only; the detail is for the operator.
	KindToolFailed Kind = "tool_failed"
	// KindTimeout: something did not answer in time.
	KindTimeout Kind = "timeout"
	// KindCancelled: the caller cancelled.
	KindCancelled Kind = "cancelled"
	// KindRateLimited: what lies behind the plugin wants fewer calls.
	KindRateLimited Kind = "rate_limited"
	// KindResultTooLarge: the result exceeds [Limits].MaxResultBytes.
	KindResultTooLarge Kind = "result_too_large"
)

// Ran says whether a call that failed had its effects all the same. The zero
// Ran leaves the judgement to the host, which goes by the tool's effects.
type Ran string

const (
	// RanNo: the call had no effect; repeating it is safe.
	RanNo Ran = "no"
	// RanYes: the call had its effects.
	RanYes Ran = "yes"
	// RanUnknown: nobody knows.
	RanUnknown Ran = "unknown"
)

// Error is a call that did not succeed. A handler returns one, also wrapped,
// to say exactly what the model and the operator learn. Any other error is
// KindToolFailed with the code "internal" and the error's text as Detail; an
// error that is context.DeadlineExceeded is KindTimeout, and context.Canceled
// is KindCancelled where the call itself was cancelled.
type Error struct {
	Kind Kind
	// Code is for programs: stable, [a-z][a-z0-9_]*. Empty: the kind's own.
	Code string
	// Text is for the model. Never a secret, a path of the host or a stack trace.
	Text string
	// Detail is for the operator: log and ledger, never the model.
	Detail string
	// RetryAfter is when it may be worth trying again; zero: unknown or never.
	RetryAfter time.Duration
	// Ran says whether the call had effects.
	Ran Ran

	err error
}

// Error is the whole story, for logs.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.kind()))
	if e.Code != "" {
		b.WriteString(" (" + e.Code + ")")
	}
	if e.Text != "" {
		b.WriteString(": " + e.Text)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Unwrap is the error that lies beneath, if any.
func (e *Error) Unwrap() error { return e.err }

// Because returns a copy of e that wraps err; err's text becomes the Detail.
func (e *Error) Because(err error) *Error {
	c := *e
	c.err = err
	if err != nil {
		c.Detail = err.Error()
	}
	return &c
}

func (e *Error) kind() Kind {
	if e.Kind == "" {
		return KindToolFailed
	}
	return e.Kind
}

// Invalid says that the arguments cannot be right although they fit the
// schema. An empty code is "invalid_args".
func Invalid(code, text string) *Error {
	return &Error{Kind: KindArgsInvalid, Code: orElse(code, "invalid_args"), Text: text, Ran: RanNo}
}

// NotFound tells the model that what it asked for does not exist. An empty
// code is "not_found".
func NotFound(code, text string) *Error {
	return &Error{Kind: KindToolError, Code: orElse(code, "not_found"), Text: text, Ran: RanNo}
}

// Denied says that the adapter's own rules forbid the call. An empty code is
// "denied".
func Denied(code, text string) *Error {
	return &Error{Kind: KindDenied, Code: orElse(code, "denied"), Text: text, Ran: RanNo}
}

// ToolError tells the model something that it can act upon. An empty code is
// "tool_error".
func ToolError(code, text string) *Error {
	return &Error{Kind: KindToolError, Code: orElse(code, "tool_error"), Text: text}
}

// Failed is a fault: the model sees the code, the operator also err. An empty
// code is "internal".
func Failed(code string, err error) *Error {
	return (&Error{Kind: KindToolFailed, Code: orElse(code, "internal")}).Because(err)
}

// Downstream is a fault of what lies behind the plugin: a database, a remote
// API. The code is "downstream". An err that is context.DeadlineExceeded makes
// it KindTimeout, one that is context.Canceled KindCancelled.
func Downstream(err error) *Error {
	e := &Error{Kind: KindToolFailed, Code: "downstream"}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Code = KindTimeout, "timeout"
	case errors.Is(err, context.Canceled):
		e.Kind, e.Code = KindCancelled, "cancelled"
	}
	return e.Because(err)
}

// Retryable says that the call may succeed after some time. An err that is not
// an *Error is taken as [Downstream].
func Retryable(err error, after time.Duration) *Error {
	var e *Error
	if !errors.As(err, &e) {
		e = Downstream(err)
	}
	c := *e
	c.RetryAfter = after
	return &c
}

// ProtocolError ends a call with a JSON-RPC error instead of a result: a handler
// returns it where MCP asks for that. All that is said to the model is an [Error].
type ProtocolError struct {
	// Code is JSON-RPC's; hosts refuse reserved ranges.
	Code int32
	// Message is one sentence.
	Message string
	// Data is any JSON value; nil: none.
	Data json.RawMessage
}

// Error is the message.
func (e *ProtocolError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// protocolError is the one that a handler returned; nil: it returned another error.
func protocolError(err error) *pluginv1.ProtocolError {
	if _, said := errors.AsType[*Error](err); said {
		return nil
	}
	e, ok := errors.AsType[*ProtocolError](err)
	if !ok || e == nil {
		return nil
	}
	out := &pluginv1.ProtocolError{Code: e.Code, Message: cut(e.Message, maxErrorText)}
	if json.Valid(e.Data) {
		out.Data = e.Data
	}
	return out
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Bounds of what an error may carry, in bytes. What is longer is cut.
const (
	maxErrorText   = 16 << 10
	maxErrorDetail = 64 << 10
)

// callError makes the wire's error of whatever a handler returned.
func callError(ctx context.Context, err error) *pluginv1.CallError {
	var e *Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		e = (&Error{Kind: KindTimeout, Code: "timeout"}).Because(err)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		e = (&Error{Kind: KindCancelled, Code: "cancelled"}).Because(err)
	default:
		e = Failed("internal", err)
	}
	out := &pluginv1.CallError{
		Kind:   wireKind(e.kind()),
		Code:   cleanCode(orElse(e.Code, string(e.kind()))),
		Text:   cut(e.Text, maxErrorText),
		Detail: cut(e.Detail, maxErrorDetail),
	}
	// Wrapping may have added what the operator wants to know.
	if whole := err.Error(); out.GetDetail() == "" && whole != e.Error() {
		out.Detail = cut(whole, maxErrorDetail)
	}
	if e.RetryAfter > 0 {
		out.RetryAfter = durationpb.New(e.RetryAfter)
	}
	switch e.Ran {
	case RanNo:
		out.Ran = pluginv1.Ran_RAN_NO
	case RanYes:
		out.Ran = pluginv1.Ran_RAN_YES
	case RanUnknown:
		out.Ran = pluginv1.Ran_RAN_UNKNOWN
	}
	return out
}

// wireKinds are the kinds on the wire. What is not in it is a fault.
var wireKinds = map[Kind]pluginv1.ErrorKind{
	KindArgsInvalid:    pluginv1.ErrorKind_ERROR_KIND_ARGS_INVALID,
	KindDenied:         pluginv1.ErrorKind_ERROR_KIND_DENIED,
	KindToolError:      pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR,
	KindToolFailed:     pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED,
	KindTimeout:        pluginv1.ErrorKind_ERROR_KIND_TIMEOUT,
	KindCancelled:      pluginv1.ErrorKind_ERROR_KIND_CANCELLED,
	KindRateLimited:    pluginv1.ErrorKind_ERROR_KIND_RATE_LIMITED,
	KindResultTooLarge: pluginv1.ErrorKind_ERROR_KIND_RESULT_TOO_LARGE,
}

func wireKind(k Kind) pluginv1.ErrorKind {
	if w, ok := wireKinds[k]; ok {
		return w
	}
	return pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED
}

func kindName(w pluginv1.ErrorKind) Kind {
	for k, v := range wireKinds {
		if v == w {
			return k
		}
	}
	return KindToolFailed
}

// cleanCode makes any code fit [a-z][a-z0-9_]*.
func cleanCode(code string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, code)
	if clean == "" || clean[0] < 'a' {
		clean = "e" + clean
	}
	return clean
}

// cut bounds s and makes it valid UTF-8, which protobuf insists on.
func cut(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
