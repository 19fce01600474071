// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// Call is what a handler may know about the call that it serves.
type Call struct {
	// ID is stable over the attempts of one call: the idempotency key.
	ID string
	// Attempt is 1 for the first attempt.
	Attempt int
	// RunID groups the calls of one agent run; opaque.
	RunID string
	// ProtocolVersion is the MCP version that the client speaks.
	ProtocolVersion string
	// ClientCapabilities is one JSON object, MCP ClientCapabilities.
	ClientCapabilities json.RawMessage
	// LogLevel is the least severe message that the client wants of [Notify];
	// empty: it wants none.
	LogLevel Level
	// WantsProgress: the client asked for progress. Unasked progress is dropped.
	WantsProgress bool
	// Principal is the caller's name; empty unless the adapter is configured with
	// pass_principal.
	Principal string
}

// Adapter is what this process is to its host.
type Adapter struct {
	// Name of the adapter that this process is an instance of.
	Name string
	// CacheDir is a private directory of this adapter, kept between starts; the
	// host caps its size and may empty it. Empty: there is none.
	CacheDir string
	// Limits of the host.
	Limits Limits
}

// Limits is what the host will accept. Zero: unknown.
type Limits struct {
	// MaxMessageBytes bounds one gRPC message. Large results are sent in parts below
	// it; one block of content, one resource, one prompt cannot be parted.
	MaxMessageBytes int64
	// MaxResultBytes bounds one result: structured content and blocks together.
	// What is larger is answered as KindResultTooLarge; a handler that can stop
	// at the source should.
	MaxResultBytes int64
	// MaxInFlight is how many calls the host will have in flight at once.
	MaxInFlight int
	// CallTimeout is the longest deadline that a call will have.
	CallTimeout time.Duration
	// MaxTools is how many tools, resources and prompts the catalogue may hold, of
	// each.
	MaxTools int
}

type (
	callKey    struct{}
	adapterKey struct{}
	loggerKey  struct{}
	warningKey struct{}
)

// running is what the context of a call carries.
type running struct {
	call    Call
	adapter *Adapter
	live    *live
	log     *slog.Logger

	progress func(*pluginv1.Progress)   // nil: nobody hears
	notify   func(*pluginv1.LogMessage) // nil: nobody hears
	pace     pace
	notices  allowance

	answers map[string][]byte // to the questions of the round before
	state   []byte            // of the round before
}

// CallInfo returns what is known about the call that ctx belongs to; the zero
// Call outside of one.
func CallInfo(ctx context.Context) Call {
	if r, ok := ctx.Value(callKey{}).(*running); ok {
		return r.call
	}
	return Call{}
}

// AdapterInfo returns what this process is to its host, while opening, checking
// and calling; the zero Adapter elsewhere.
func AdapterInfo(ctx context.Context) Adapter {
	if r, ok := ctx.Value(callKey{}).(*running); ok {
		return *r.adapter
	}
	if a, ok := ctx.Value(adapterKey{}).(*Adapter); ok {
		return *a
	}
	return Adapter{}
}

// Log returns a logger whose lines go to the operator, with the call's id. It
// never goes to the client: see [Notify]. Outside of a call it is [slog.Default].
func Log(ctx context.Context) *slog.Logger {
	if r, ok := ctx.Value(callKey{}).(*running); ok {
		return r.log.With("call_id", r.call.ID)
	}
	if l, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return l
	}
	return slog.Default()
}

// Progress tells the client how far the call is, if it asked to know. Total is
// what done will be at the end; zero or less: unknown. Done must grow. More than
// ten messages a second are dropped, but for the one that reaches total.
func Progress(ctx context.Context, done, total float64, msg string) {
	r, ok := ctx.Value(callKey{}).(*running)
	if !ok || r.progress == nil || !r.call.WantsProgress || !r.pace.admit(done, total, time.Now()) {
		return
	}
	p := &pluginv1.Progress{Progress: done, Message: valid(msg)}
	if total > 0 {
		p.Total = &total
	}
	r.progress(p)
}
