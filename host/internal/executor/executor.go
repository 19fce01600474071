// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package executor runs one call: through the gates, one begin, one send, the
// filters and one end. Nothing reaches an adapter by another way.
//
// The order, here and nowhere else (pass):
//
//	find -> admission -> before hooks -> prior -> gates (validate, rules, approval) -> limits (peek) ->
//	cache -> slot -> rates -> BEGIN -> adapter -> after hooks -> filters (output check, cap, redact) -> END
//
// prior is what an earlier round of the same call has left: an approval that
// was asked for, or the state of an adapter's own question.
package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/cache"
	"github.com/toolwharf/toolwharf/host/internal/kept"
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

// Hook is an adapter that judges and edits calls of others: a gate before
// validation, and a filter of the result.
type Hook interface {
	Gate
	Filter
	// Origin is the adapter.
	Origin() string
}

// Filter judges or changes a result in place. An error, an *tool.Error, takes
// the result's place; the call has run all the same.
type Filter interface {
	Apply(context.Context, *tool.Case, *tool.Result) error
}

// Redactor takes secrets out of what is given to a client or recorded.
type Redactor interface {
	// Outcome changes a result or a question in place.
	Outcome(adapter string, out tool.Outcome)
	Event(adapter string, e tool.Event) tool.Event
	Error(adapter string, e *tool.Error) *tool.Error
	Text(adapter, s string) string
}

// Sealer closes state that travels through a client; see package seal.
type Sealer interface {
	Seal(purpose string, payload []byte, until time.Time) string
	Open(purpose, state string, now time.Time) ([]byte, error)
}

// Asking says who decides what needs an approval, and how long that may take.
type Asking struct {
	// Deferred: an operator may decide. Otherwise what needs an approval is
	// refused, unless Form.
	Deferred bool
	// Form: the client's user decides, if the client can show a form.
	Form bool
	// Expires is how long an approval is good for.
	Expires time.Duration
	// Link is where an operator decides about an approval; nil: nobody knows. Clients
	// that can open URLs are sent there.
	Link func(id string) string
	// Wait is how long a call is held for a decision.
	Wait time.Duration
	// Quota bounds what is pending, FormQuota what is pending as a form.
	Quota, FormQuota approval.Quota
}

// Config is what an executor is made of.
type Config struct {
	Registry *registry.Registry
	// Gates come after the validation of arguments, Hooks before it, each in
	// this order, until SetPolicy says otherwise.
	Gates []Gate
	Hooks []Hook
	// Limits hold until SetPolicy says otherwise; nil: there are none.
	Limits *limit.Policy
	// Cache says of which tools answers are kept, in Answers; nil: none are.
	Cache   cache.Policy
	Answers *cache.Cache
	Journal Journal
	// Approvals and Sealer are needed if Asking says that somebody is asked,
	// or if adapters may ask; both may be nil otherwise.
	Approvals Approvals
	Sealer    Sealer
	Asking    Asking
	// Redactor is the last filter; nil: there are no secrets.
	Redactor Redactor
	// MaxResult bounds a result, in bytes of its text and structured content.
	MaxResult int
	// Kept keeps structured content beyond it for its caller; nil: nobody does.
	Kept *kept.Store
	// Host names this host instance in the ledger.
	Host string
	// Keyer keys the digests of arguments.
	Keyer *ledger.Keyer
	// Reached is told of each point of a call at which a crash must lose
	// nothing; nil: nobody. Tests end the process there.
	Reached func(Point)
	// Told hears of each call once it has ended, refused ones too; nil: nobody.
	Told func(context.Context, ledger.Row)
	// Tracer follows calls by spans; nil: nobody does.
	Tracer Tracer
	Log    *slog.Logger
}

// Tracer follows a call from here to its adapter and back. What it returns as end
// must be called.
type Tracer interface {
	// Begin begins the span of a call, whose context Told is given.
	Begin(context.Context, *tool.Call) (_ context.Context, end func())
	// Send begins the span of the time at an adapter, and returns what the adapter
	// is told of the trace.
	Send(ctx context.Context, adapter string, told tool.Trace) (_ context.Context, _ tool.Trace, end func(*tool.Error))
}

// Point is a point of a call, named after what has just happened.
type Point string

// The points, in order.
const (
	Judged Point = "judged" // every gate passed, nothing is written
	Asked  Point = "asked"  // an approval is written
	Begun  Point = "begun"  // the intent is written, nothing is sent
	Sent   Point = "sent"   // the adapter has answered
	Ended  Point = "ended"  // the outcome is written, nobody is told
)

func (x *Executor) reached(p Point) {
	if x.Reached != nil {
		x.Reached(p)
	}
}

// Executor runs calls. It is safe for concurrent use.
type Executor struct {
	Config

	slots  limit.Slots
	policy atomic.Pointer[Policy]
}

// Policy is what may change while calls run. It is immutable: a call keeps to
// its end the one that it has begun with.
type Policy struct {
	// Gates, Hooks, Limits and Cache are those of Config.
	Gates  []Gate
	Hooks  []Hook
	Limits *limit.Policy
	Cache  cache.Policy
	// Visible reports whether a principal may know of what is offered; nil:
	// everybody may of all. A call of something that is hidden is answered like
	// that of something that is not there, and recorded as refused.
	Visible func(tool.Principal, *tool.Spec) bool
	// Hides says for the operator why Visible says no, and by which line of the
	// rules, 0 if by none; may be nil.
	Hides func(tool.Principal, *tool.Spec) (why string, line int)
	// Lacks are the scopes with which the principal could know of it; may be nil.
	Lacks func(tool.Principal, *tool.Spec) []string
	// Settled reports whether Visible says the same of the same as long as the
	// policy and the catalogue stay; nil: it does.
	Settled func() bool
}

// Sees reports whether a principal may know of what is offered.
func (p *Policy) Sees(who tool.Principal, s *tool.Spec) bool {
	return p.Visible == nil || p.Visible(who, s)
}

// hidden reports whether what is called is hidden from its caller, and the verdict
// if it is.
func (p *Policy) hidden(c *tool.Case) (bool, tool.Verdict) {
	err := tool.Errorf(tool.Denied, "hidden", "%s is hidden from %s by the rules", c.Spec.Name, c.Principal)
	v := tool.Refused(err.Text, err)
	if p.Hides != nil {
		err.Detail, v.Line = p.Hides(c.Principal, c.Spec)
		v.Reason += ": " + err.Detail
	}
	return !p.Sees(c.Principal, c.Spec), v
}

// New returns an executor.
func New(c Config) *Executor {
	x := &Executor{Config: c}
	x.SetPolicy(&Policy{Gates: c.Gates, Hooks: c.Hooks, Limits: c.Limits, Cache: c.Cache})
	return x
}

// InFlight are the calls that an adapter is working on, and those that wait for it.
func (x *Executor) InFlight(adapter string) (working, waiting int) { return x.slots.Counts(adapter) }

// SetPolicy puts another policy in the place of the one before, from the next
// call on.
func (x *Executor) SetPolicy(p *Policy) {
	held := *p
	if held.Limits == nil {
		held.Limits = &limit.Policy{}
	}
	x.policy.Store(&held)
}

// Policy returns the policy of the next call.
func (x *Executor) Policy() *Policy { return x.policy.Load() }

// UnknownError is a call of a tool, resource or prompt that is not there, or that
// the caller may not see: the two look the same.
type UnknownError struct {
	Op   tool.Op
	Name string
}

// Error says it as MCP clients see it.
func (e *UnknownError) Error() string {
	what := "tool"
	switch e.Op {
	case tool.OpResource:
		what = "resource"
	case tool.OpPrompt:
		what = "prompt"
	case tool.OpCompletion:
		what = "reference"
	case tool.OpTool, tool.OpBefore, tool.OpAfter:
	}
	return fmt.Sprintf("unknown %s %q", what, e.Name)
}

// Do runs one call. The error is an *UnknownError, ErrInvalidState or an
// *tool.Error.
func (x *Executor) Do(ctx context.Context, call *tool.Call) (tool.Outcome, error) {
	if x.Tracer != nil {
		var end func()
		ctx, end = x.Tracer.Begin(ctx, call)
		defer end()
	}
	out, err := x.pass(ctx, call)
	if p, pending := out.(*tool.Pending); pending && err == nil {
		return x.hold(ctx, call, p)
	}
	return out, err
}

// pass is one way through everything.
func (x *Executor) pass(ctx context.Context, call *tool.Call) (tool.Outcome, error) {
	if id, ok := kept.ID(call.Name); ok && call.Op == tool.OpResource {
		return x.recall(ctx, call, id)
	}
	entry, release, ok := x.acquire(call)
	if !ok {
		return nil, &UnknownError{call.Op, call.Name}
	}
	defer release()
	policy := x.Policy()
	c := newCase(call, entry.Offer, policy)
	row := x.row(c)
	if err := policy.Limits.Admit(c); err != nil {
		return nil, x.turnedAway(ctx, c, !policy.Sees(c.Principal, c.Spec), row, err)
	}
	if !policy.Sees(c.Principal, c.Spec) {
		return nil, x.unknown(ctx, c, policy, row)
	}
	out, failed := x.guarded(ctx, c, policy, entry, &row)
	if failed != nil && errors.Is(failed, ErrInvalidState) {
		return nil, ErrInvalidState // no call of anybody's
	}
	failed = x.end(ctx, c, row, out, failed)
	if failed != nil {
		return nil, failed
	}
	return out, nil
}

// Reject records a call that a face refused before it was one, because its
// arguments are not JSON, and returns what the client is to be told.
func (x *Executor) Reject(ctx context.Context, call *tool.Call, err *tool.Error) error {
	entry, release, ok := x.acquire(call)
	if !ok {
		return &UnknownError{call.Op, call.Name}
	}
	defer release()
	policy := x.Policy()
	c := newCase(call, entry.Offer, policy)
	row := x.row(c)
	if err := policy.Limits.Admit(c); err != nil {
		return x.turnedAway(ctx, c, !policy.Sees(c.Principal, c.Spec), row, err)
	}
	if !policy.Sees(c.Principal, c.Spec) {
		return x.unknown(ctx, c, policy, row)
	}
	row.Gate = gateDoor
	return x.end(ctx, c, row, nil, err)
}

// turnedAway records a call that is not looked at. What is hidden from the caller
// looks as if it were not there.
func (x *Executor) turnedAway(ctx context.Context, c *tool.Case, hidden bool, row tally, err *tool.Error) error {
	row.Gate = gateAdmission
	err = x.end(ctx, c, row, nil, err)
	if hidden {
		return &UnknownError{c.Op, c.Name}
	}
	return err
}

// acquire finds what a call is about and holds its runner.
func (x *Executor) acquire(call *tool.Call) (e registry.Entry, release func(), ok bool) {
	if e, release, ok = x.Registry.Acquire(call.PublicName()); !ok {
		return e, nil, false
	}
	switch {
	case !e.Serves(call.Op):
		release()
		return e, nil, false
	case call.Op != tool.OpCompletion:
	case e.Prompt == nil && !e.Whole():
		release()
		return e, nil, false
	default:
		e.Offer = completing(e.Offer)
	}
	return e, release, true
}

// unknown records a call of something hidden, and says that there is no such
// thing. What the gates would say of the arguments is not for this caller.
func (x *Executor) unknown(ctx context.Context, c *tool.Case, p *Policy, row tally) error {
	row.Gate = gateFind
	_, v := p.hidden(c)
	_ = x.end(ctx, c, row, nil, v.Err)
	return &UnknownError{c.Op, c.Name}
}

// newCase is a call as it arrives. One that names no run belongs to the current one
// of its principal.
func newCase(call *tool.Call, offer *registry.Offer, p *Policy) *tool.Case {
	now := time.Now()
	if call.Run == "" {
		named := *call
		named.Run = p.Limits.RunKey(call.Principal, now)
		call = &named
	}
	return &tool.Case{
		Call: call, Spec: &offer.Spec, Args: call.Args, Started: now, Origin: offer.Origin,
		ID: tool.NewID(tool.PrefixCall), Who: call.Principal.String(),
		RunID: tool.ScopedID(tool.PrefixRun, call.Principal, call.Run),
	}
}

// guarded is through, after whose panics the call is recorded all the same.
func (x *Executor) guarded(ctx context.Context, c *tool.Case, p *Policy, entry registry.Entry, row *tally) (out tool.Outcome, failed *tool.Error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		x.Log.Error("panic in a call", "call", c.ID, "tool", row.Tool, "panic", cause, "stack", string(debug.Stack()))
		out, failed = nil, tool.Failed("internal", fmt.Errorf("panic: %v", cause))
		if row.Attempt > 0 {
			failed.Sent = true
			failed = settle(c, failed)
		}
	}()
	return x.through(ctx, c, p, entry, row)
}

// through is the way from what came before to the last filter.
func (x *Executor) through(ctx context.Context, c *tool.Case, p *Policy, entry registry.Entry, row *tally) (tool.Outcome, *tool.Error) {
	prior, err := x.arrive(ctx, c, p, entry, row)
	if err != nil {
		return nil, err
	}
	gate, v := x.judge(ctx, c, p, entry.Offer, nil)
	x.identify(row, c, prior)
	switch {
	case v.Decision != tool.Refuse && prior.pending():
		// Also if the rules would let it run by now: a call that was parked
		// runs by its decision, or it could run twice.
		row.Gate = gate
		return x.askAgain(c, prior)
	case v.Decision == tool.Ask && prior == nil:
		row.Gate = gate
		return x.ask(ctx, c, row)
	case v.Decision == tool.Ask:
		row.Gate = gate
		return nil, stale(c)
	case v.Decision != tool.Pass:
		row.Gate = gate
		return nil, v.Err
	}
	if v := ask(ctx, p.Limits, c); v.Decision != tool.Pass {
		row.Gate = p.Limits.Name()
		return nil, v.Err
	}
	if x.Answers != nil {
		if terms, why := p.Cache.Of(c); why == "" {
			return x.answered(ctx, c, p, terms, entry, row)
		}
	}
	out, err := x.dispatch(ctx, c, p, prior, entry, row)
	if err != nil {
		return nil, err
	}
	return x.deliver(ctx, c, p, prior, entry.Offer, out)
}

// deliver makes of what an adapter has answered what the caller gets.
func (x *Executor) deliver(
	ctx context.Context, c *tool.Case, p *Policy, prior *prior, offer *registry.Offer, out tool.Outcome,
) (tool.Outcome, *tool.Error) {
	var err *tool.Error
	switch o := out.(type) {
	case *tool.Result:
		err = x.filter(ctx, c, p, offer, o)
	case *tool.Question:
		err = x.relay(c, prior, offer, o)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// dispatch sends the call to its adapter: once there is a slot, the rates let it go,
// and it has begun.
func (x *Executor) dispatch(
	ctx context.Context, c *tool.Case, p *Policy, prior *prior, entry registry.Entry, row *tally,
) (tool.Outcome, *tool.Error) {
	free, err := x.slots.Acquire(ctx, c.Spec.Adapter, c.Who, entry.Limits.MaxInFlight)
	if err != nil {
		row.Gate = gateSlot
		return nil, err
	}
	defer free()
	if ctx.Err() != nil {
		row.Gate = gateSlot
		return nil, tool.Interrupted(ctx, "waiting to be sent")
	}
	x.reached(Judged)
	if err := p.Limits.Take(c); err != nil {
		row.Gate = p.Limits.Name()
		return nil, err
	}
	if err := x.begin(ctx, c, p, prior, row); err != nil {
		return nil, err
	}
	x.reached(Begun)
	row.Attempt, row.limits = 1, p.Limits
	out, err := x.send(ctx, c, prior, entry)
	x.reached(Sent)
	if x.Answers != nil && c.Spec.Effects.Effective() != tool.ReadOnly {
		x.Answers.Forget(c.Spec.Adapter) // what it has answered so far may not be so any more
	}
	if err != nil {
		return nil, settle(c, err)
	}
	if r, ok := out.(*tool.Result); ok {
		row.said = r.Cost
	}
	return out, nil
}

// arrive makes the case what is to be judged: as the hooks have edited it, and as
// an earlier round has left it.
func (x *Executor) arrive(ctx context.Context, c *tool.Case, p *Policy, entry registry.Entry, row *tally) (*prior, *tool.Error) {
	if gate, err := x.before(ctx, c, p, nil); err != nil {
		row.Gate = gate
		return nil, err
	}
	if c.Args.Digest() != c.Call.Args.Digest() {
		row.Asked = x.keyed(c.Call.Args)
	}
	coerced, err := coerce(c, entry.Offer)
	if err != nil {
		row.Gate = gateValidate
		return nil, err
	}
	c.Args = coerced
	prior, err := x.prior(ctx, c)
	x.identify(row, c, prior)
	if err != nil {
		row.Gate = gatePrior
		return prior, err
	}
	if prior.edited() {
		if gate, err := x.again(ctx, c, p); err != nil {
			row.Gate = gate
			return prior, err
		}
	}
	return prior, nil
}

// begin writes the intent, and spends what the call came back with.
func (x *Executor) begin(ctx context.Context, c *tool.Case, p *Policy, prior *prior, row *tally) *tool.Error {
	in := Intent{
		Row: row.Row, Durable: c.Spec.Effects.Effective() != tool.ReadOnly || c.Approval != "",
		Charges: p.Limits.Charges(c),
	}
	if in.Durable {
		in.Args = x.keyed(c.Args)
	}
	prior.spend(&in)
	err := x.Journal.Begin(ctx, in)
	if err == nil {
		row.charged = in.Charges
		return nil
	}
	row.Gate = gateBegin
	var status *approval.StatusError
	var spent *limit.SpentError
	switch {
	case errors.As(err, &spent):
		row.Gate = p.Limits.Name()
		return p.Limits.Spent(c, spent)
	case errors.As(err, &status):
		return notApproved(c, status.Status, status.Running, "")
	case errors.Is(err, ErrRoundSpent):
		return tool.Errorf(tool.ApprovalDenied, "approval_used", "this answer was given before; nothing was run again")
	case ctx.Err() != nil: // the caller's doing, not a fault of the journal
		return tool.Interrupted(ctx, "waiting to be recorded")
	default:
		return tool.Failed("journal", err)
	}
}

// send runs the call on its adapter, within the adapter's time.
func (x *Executor) send(ctx context.Context, c *tool.Case, prior *prior, entry registry.Entry) (tool.Outcome, *tool.Error) {
	if entry.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, entry.Limits.Timeout)
		defer cancel()
	}
	// The client's own keys and what it brought back stay here: an adapter that
	// knew them could come back for the call in its caller's place.
	call := *c.Call
	call.Run, call.Key, call.State, call.Answers = "", "", nil, nil
	a := &tool.Attempt{Call: &call, ID: c.ID, RunID: c.RunID, N: 1, Spec: *c.Spec, Args: c.Args}
	a.State, a.Answers = prior.answered(c)
	if tell := c.Events; tell != nil && x.Redactor != nil {
		call.Events = func(e tool.Event) { tell(x.Redactor.Event(c.Spec.Adapter, e)) }
	}
	end := func(*tool.Error) {}
	if x.Tracer != nil {
		ctx, call.Trace, end = x.Tracer.Send(ctx, c.Spec.Adapter, call.Trace)
	}
	out, err := entry.Runner.Run(ctx, a)
	if err != nil {
		failed := tool.AsError(err)
		end(failed)
		return nil, failed
	}
	end(nil)
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
	case tool.ToolFailed: // a fault in the middle of it
		settled := *e
		settled.Ran = tool.RanUnknown
		return &settled
	default:
		return e
	}
}
