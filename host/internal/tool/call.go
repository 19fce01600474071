// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
)

// Op is what is asked of an adapter.
type Op string

// Everything that reaches an adapter is one of these.
const (
	OpTool       Op = "tool"
	OpResource   Op = "resource"
	OpPrompt     Op = "prompt"
	OpCompletion Op = "completion"
	// OpBefore and OpAfter ask an adapter about a call of another one.
	OpBefore Op = "before_tool"
	OpAfter  Op = "after_tool"
)

// Client is what a request says about the client that sent it. None of it is
// proven.
type Client struct {
	// Protocol is the MCP protocol version, "2026-07-28" for example.
	Protocol string
	// Name and Version are the client's own words.
	Name, Version string
	// Capabilities is one JSON object (MCP ClientCapabilities), nil if unknown.
	Capabilities json.RawMessage
	// LogLevel is the least severe log message that the client asked for, an
	// MCP level; empty: none.
	LogLevel string
	// Progress: the client asked for progress.
	Progress bool
}

// Call is what a face knows of one call. It is immutable.
type Call struct {
	Op Op
	// Name is the public name or an alias of a tool, the public name of a prompt
	// without its kind, a resource's URI, or, of a completion, the PromptName
	// or ResourceName of what it belongs to.
	Name string
	Args JSON
	// Principal is proven by the face.
	Principal Principal
	// Run and Key are the client's own keys of a run and of a pending call;
	// adapters and the ledger see ids scoped by principal. Empty: none.
	Run, Key string
	// Resumable: the caller can come back for a pending call. Otherwise it
	// gets no keys.
	Resumable bool
	Client    Client
	// Trace is the client's trace context, for the adapter.
	Trace Trace
	// Answers and State belong to an earlier round of the same call.
	Answers map[string]json.RawMessage
	State   []byte
	// Events receives progress and log while the call runs; nil: unwanted. It
	// is called from one goroutine at a time and must not block.
	Events func(Event)
}

// Trace is a trace context (W3C Trace Context and Baggage), as the client sent
// it. Empty: none.
type Trace struct{ Parent, State, Baggage string }

// Attempt is one try to run a call, as an adapter sees it.
type Attempt struct {
	*Call

	// ID is the call's id, stable over attempts: the idempotency key.
	ID string
	// RunID groups the calls of one agent run; scoped by principal.
	RunID string
	// N counts from 1.
	N    int
	Spec Spec
	// Args are what runs: the asked arguments, or those that a hook or an
	// operator edited.
	Args JSON
	// State is the adapter's own, unsealed, and Answers are the answers to its
	// own questions.
	State   []byte
	Answers map[string]json.RawMessage
	// Hooked, with OpBefore and OpAfter, is the call that is asked about.
	Hooked *Hooked
}

// Runner runs attempts. An error is always an *Error.
type Runner interface {
	Run(context.Context, *Attempt) (Outcome, error)
}

// Event is progress or a log message of a running call: *Progress or *Log.
type Event interface{ event() }

// Progress says how far a call is.
type Progress struct {
	Progress float64
	Total    *float64
	Message  string
}

// Log is a log message for the client.
type Log struct {
	Level, Logger string
	Data          json.RawMessage
}

func (*Progress) event() {}
func (*Log) event()      {}
