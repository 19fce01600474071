// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// tally is a row in the making, and what its call has taken from its run.
type tally struct {
	ledger.Row

	// limits are those that it was begun under, nil before that, charged what they
	// have charged, and said what its adapter says that it has cost beyond that.
	limits  *limit.Policy
	charged []limit.Charge
	said    string
}

// row is what the ledger will say of a case, as far as it is known before the
// gates.
func (x *Executor) row(c *tool.Case) tally {
	return tally{Row: ledger.Row{
		Host: x.Host, Started: c.Started, Call: c.ID, Run: c.RunID,
		Principal: c.Who, Op: c.Op,
		Tool: c.Spec.Name, Adapter: c.Spec.Adapter, Effects: c.Spec.Effects.Effective(),
		Spec:   c.Spec.Digest,
		Client: c.Client.Name, Protocol: c.Client.Protocol,
	}}
}

// keyed is the digest of arguments as the ledger shows it; zero for none.
func (x *Executor) keyed(j tool.JSON) tool.Digest {
	if j.IsZero() {
		return tool.Digest{}
	}
	return x.Keyer.Digest(j.Digest())
}

// end records how the call ended, redacted, and returns the error as the caller
// is told it. It goes on when the caller has gone: a call that ran is recorded.
func (x *Executor) end(ctx context.Context, c *tool.Case, row tally, out tool.Outcome, err *tool.Error) *tool.Error {
	row.Ended, row.Args = time.Now(), x.keyed(c.Args)
	if x.Redactor != nil && err != nil {
		err = x.Redactor.Error(row.Adapter, err)
	}
	describe(&row.Row, out, err)
	more := row.settle(c, err)
	if x.Redactor != nil {
		row.Detail = x.Redactor.Text(row.Adapter, row.Detail)
		if c.Op == tool.OpResource { // also of a subscription: a URI is the caller's word
			row.Tool = x.Redactor.Text(row.Adapter, row.Tool)
		}
	}
	behind := row.Outcome != ledger.Pending && row.Approval == "" && (row.Attempt == 0 || row.Effects == tool.ReadOnly) && len(more) == 0
	failure := x.Journal.End(context.WithoutCancel(ctx), Record{Row: row.Row, Behind: behind, Settle: more})
	x.reached(Ended)
	if x.Told != nil {
		x.Told(ctx, row.Row)
	}
	if failure != nil {
		x.Log.Error("call not recorded in the ledger", "call", c.ID, "tool", row.Tool, "outcome", row.Outcome, "error", failure)
		if r, ok := out.(*tool.Result); ok && err == nil {
			r.Unrecorded = true
		}
		if err != nil {
			unrecorded := *err
			unrecorded.Unrecorded = true
			err = &unrecorded
		}
	}
	if err != nil {
		x.Log.Info("call came to no result", "call", c.ID, "tool", row.Tool, "adapter", row.Adapter,
			"outcome", row.Outcome, "kind", err.Kind, "code", err.Code, "gate", row.Gate, "error", err)
	}
	return err
}

// settle says what the call has cost, and what is to be charged beside what it was
// begun with.
func (t *tally) settle(c *tool.Case, err *tool.Error) (more []limit.Charge) {
	if t.limits == nil {
		return nil
	}
	more, t.Cost = t.limits.Settle(c, t.charged, err == nil || err.Sent, t.said)
	return more
}

// describe fills in the outcome.
func describe(row *ledger.Row, out tool.Outcome, err *tool.Error) {
	if err != nil {
		row.Outcome = ledger.Failed
		switch {
		case err.Kind == tool.OutcomeUnknown:
			row.Outcome = ledger.Unknown
		case row.Attempt == 0 && !err.Sent: // an equal call may have been sent
			row.Outcome = ledger.Refused
		}
		row.Kind, row.Code, row.Ran = err.Kind, err.Code, err.Ran
		row.Detail = detail(err)
		return
	}
	switch o := out.(type) {
	case *tool.Result:
		row.Outcome = ledger.OK
		row.ResultBytes = int64(len(o.Structured))
		for _, block := range o.Content {
			row.ResultBytes += int64(size(block))
		}
	case *tool.Pending:
		row.Outcome, row.Kind = ledger.Pending, tool.ApprovalPending
	default:
		row.Outcome = ledger.Pending
	}
}

// detail is the operator's side of an error, bounded.
func detail(err *tool.Error) string {
	const max = 4096
	s := err.Detail
	if err.Err != nil {
		if s != "" {
			s += ": "
		}
		s += err.Err.Error()
	}
	if len(s) > max {
		s = cutText(s, max)
	}
	return s
}
