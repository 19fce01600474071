// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package executor runs one call: through the gates, one begin, one send, the
// filters and one end. Nothing reaches an adapter by another way.
//
// The order, here and nowhere else (Do):
//
//	find -> gates (validate, approval) -> slot -> BEGIN -> adapter -> filters (output check, cap) -> END
package executor

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Gate judges a call before it is sent. It has no side effects: Explain asks
// the same gates.
type Gate interface {
	Name() string
	Judge(context.Context, *tool.Case) (tool.Verdict, error)
}

// Filter judges or changes a result in place. An error, an *tool.Error, takes
// the result's place; the call has run all the same.
type Filter interface {
	Apply(context.Context, *tool.Case, *tool.Result) error
}

// Config is what an executor is made of.
type Config struct {
	Registry *registry.Registry
	// Gates come after the validation of arguments, in this order.
	Gates   []Gate
	Journal Journal
	// MaxResult bounds a result, in bytes of its text and structured content.
	MaxResult int
	// Host names this host instance in the ledger.
	Host string
	Log  *slog.Logger
}

// Executor runs calls. It is safe for concurrent use.
type Executor struct {
	registry *registry.Registry
	gates    []Gate
	slots    limit.Slots
	journal  Journal
	max      int
	host     string
	log      *slog.Logger
}

// New returns an executor.
func New(c Config) *Executor {
	return &Executor{
		registry: c.Registry, gates: c.Gates, journal: c.Journal,
		max: c.MaxResult, host: c.Host, log: c.Log,
	}
}

// UnknownError is a call of a tool that is not there, or that the caller may
// not see: the two look the same.
type UnknownError struct{ Name string }

// Error says it as MCP clients see it.
func (e *UnknownError) Error() string { return fmt.Sprintf("unknown tool %q", e.Name) }

// Do runs one call. The error is an *UnknownError or an *tool.Error.
func (x *Executor) Do(ctx context.Context, call *tool.Call) (tool.Outcome, error) {
	entry, release, ok := x.registry.Acquire(call.Name)
	if !ok {
		return nil, &UnknownError{call.Name}
	}
	defer release()
	c := newCase(call, entry.Offer)
	row := x.row(c)
	out, err := x.through(ctx, c, entry, &row)
	x.end(ctx, c, row, out, err)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Reject records a call that a face refused before it was one, because its
// arguments are not JSON, and returns what the client is to be told.
func (x *Executor) Reject(ctx context.Context, call *tool.Call, err *tool.Error) error {
	entry, release, ok := x.registry.Acquire(call.Name)
	if !ok {
		return &UnknownError{call.Name}
	}
	defer release()
	c := newCase(call, entry.Offer)
	row := x.row(c)
	row.Gate = gateDoor
	x.end(ctx, c, row, nil, err)
	return err
}

func newCase(call *tool.Call, offer *registry.Offer) *tool.Case {
	return &tool.Case{
		Call: call, Spec: &offer.Spec, Args: call.Args, Started: time.Now(),
		ID:    tool.NewID(tool.PrefixCall),
		RunID: tool.ScopedID(tool.PrefixRun, call.Principal, call.Run),
	}
}

// through is the way from the gates to the last filter.
func (x *Executor) through(ctx context.Context, c *tool.Case, entry registry.Entry, row *ledger.Row) (tool.Outcome, *tool.Error) {
	if gate, v := x.judge(ctx, c, entry.Offer, nil); v.Decision != tool.Pass {
		row.Gate = gate
		return nil, v.Err
	}
	row.Args = c.Args.Digest()
	free, err := x.slots.Acquire(ctx, c.Spec.Adapter, entry.Limits.MaxInFlight)
	if err != nil {
		row.Gate = gateSlot
		return nil, err
	}
	defer free()
	if ctx.Err() != nil {
		row.Gate = gateSlot
		return nil, tool.Interrupted(ctx, "waiting to be sent")
	}
	effects := c.Spec.Effects.Effective()
	if err := x.journal.Begin(ctx, Intent{Row: *row, Durable: effects != tool.ReadOnly}); err != nil {
		row.Gate = gateBegin
		if ctx.Err() != nil { // the caller's doing, not a fault of the journal
			return nil, tool.Interrupted(ctx, "waiting to be recorded")
		}
		return nil, tool.Failed("journal", err)
	}
	row.Attempt = 1
	out, err := x.send(ctx, c, entry)
	if err != nil {
		return nil, settle(c, err)
	}
	if r, ok := out.(*tool.Result); ok {
		if err := x.filter(ctx, c, entry.Offer, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// send runs the call on its adapter, within the adapter's time.
func (x *Executor) send(ctx context.Context, c *tool.Case, entry registry.Entry) (tool.Outcome, *tool.Error) {
	if entry.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, entry.Limits.Timeout)
		defer cancel()
	}
	out, err := entry.Runner.Run(ctx, &tool.Attempt{
		Call: c.Call, ID: c.ID, RunID: c.RunID, N: 1, Spec: *c.Spec, Args: c.Args,
	})
	if err != nil {
		return nil, tool.AsError(err)
	}
	return out, nil
}

// settle says what is known of a call that was sent and came to no result: if
// the adapter did not answer, a call with effects may have had them.
func settle(c *tool.Case, e *tool.Error) *tool.Error {
	if !e.Sent {
		settled := *e
		settled.Ran = tool.RanNo
		return &settled
	}
	if e.Ran == tool.RanNo || e.Ran == tool.RanYes || c.Spec.Effects.Effective() == tool.ReadOnly {
		return e
	}
	switch e.Kind {
	case tool.Timeout, tool.Cancelled, tool.AdapterUnavailable:
		settled := *e
		settled.Kind, settled.Ran = tool.OutcomeUnknown, tool.RanUnknown
		settled.Text = fmt.Sprintf("%s was sent to its adapter and no answer came (%s): it may or may not have had its effects; "+
			"find out before calling it again", c.Spec.Name, e.Kind)
		return &settled
	default:
		return e
	}
}
