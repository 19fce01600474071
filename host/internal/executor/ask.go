// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// formTime is how long a form is good for.
const formTime = 10 * time.Minute

// ask asks somebody to decide: the client's user by a form, or an operator. The
// call gets the ids by which it comes back, so that the approval is of this
// call and of no other.
func (x *Executor) ask(ctx context.Context, c *tool.Case, row *tally) (tool.Outcome, *tool.Error) {
	form := x.Asking.Form && canAnswer(c.Client, "elicitation/create", modeForm)
	if !form && !x.Asking.Deferred || x.Approvals == nil {
		return nil, tool.Errorf(tool.ApprovalDenied, "approval_required",
			"%s was not run: it needs approval (its effects are %s), and nobody can be asked",
			c.Spec.Name, c.Spec.Effects.Effective())
	}
	p := &tool.Pending{Run: c.Run, Call: tool.NewID(tool.PrefixCall)}
	c.ID = tool.ScopedID(tool.PrefixCall, c.Principal, p.Call)
	r := approval.Record{
		ID: tool.NewID(tool.PrefixApproval), Mode: approval.Deferred,
		Principal: c.Principal.String(), Run: c.RunID, Call: c.ID,
		Tool: c.Spec.Name, Adapter: c.Spec.Adapter, Effects: c.Spec.Effects.Effective(),
		Spec: c.Spec.Digest, Origin: c.Origin, Args: c.Args.Bytes(), Why: c.Why,
	}
	expires, quota := x.Asking.Expires, x.Asking.Quota
	if form {
		r.Mode, expires, quota = approval.Form, formTime, x.Asking.FormQuota
	}
	asked, err := x.Approvals.Ask(ctx, r, expires, quota)
	if errors.Is(err, approval.ErrQuota) {
		e := tool.Errorf(tool.RateLimited, "too_many_pending",
			"%s was not run: it needs approval, and too many calls are waiting for one", c.Spec.Name)
		e.RetryAfter = time.Minute
		return nil, e
	}
	if err != nil {
		return nil, tool.Failed("journal", err)
	}
	x.reached(Asked)
	x.identify(row, c, &prior{record: asked})
	if form {
		return x.form(c, asked)
	}
	p = x.pending(asked, p.Run, p.Call)
	if p.URL != "" && c.Op == tool.OpTool && canAnswer(c.Client, "elicitation/create", modeURL) {
		return x.link(c, p, 1)
	}
	return p, nil
}

// pending is a call that waits, and the keys by which its caller comes back.
func (x *Executor) pending(r *approval.Record, run, call string) *tool.Pending {
	p := &tool.Pending{Approval: r.ID, Run: run, Call: call}
	if x.Asking.Link != nil {
		p.URL = x.Asking.Link(r.ID)
	}
	return p
}

// askAgain says that nobody has decided yet.
func (x *Executor) askAgain(c *tool.Case, p *prior) (tool.Outcome, *tool.Error) {
	if p.link == nil {
		return x.pending(p.record, c.Run, c.Key), nil
	}
	waits := x.pending(p.record, p.link.RunKey, p.link.CallKey)
	if p.link.again && waits.URL != "" && canAnswer(c.Client, "elicitation/create", modeURL) {
		return x.link(c, waits, p.link.Count+1)
	}
	return waits, nil
}

// hold waits for the decision about a call whose client can do nothing better,
// and then comes back for it in its stead. A client that goes away withdraws.
func (x *Executor) hold(ctx context.Context, call *tool.Call, p *tool.Pending) (tool.Outcome, error) {
	if x.Asking.Wait > 0 {
		patience, cancel := context.WithTimeout(ctx, x.Asking.Wait)
		defer cancel()
		err := x.Approvals.Await(patience, p.Approval)
		if ctx.Err() != nil {
			if err := x.Approvals.Withdraw(context.WithoutCancel(ctx), p.Approval); err != nil {
				x.Log.Error("pending call not withdrawn", "approval", p.Approval, "error", err)
			}
			return nil, tool.Interrupted(ctx, "waiting for approval")
		}
		if err == nil {
			resumed := *call
			resumed.Run, resumed.Key = p.Run, p.Call
			resumed.State, resumed.Answers = nil, nil
			return x.pass(ctx, &resumed)
		}
	}
	if !call.Resumable {
		p.Run, p.Call = "", ""
	}
	return p, nil
}
