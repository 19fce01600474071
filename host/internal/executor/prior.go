// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// prior is what an earlier round of a call has left. Nil: this is the first.
type prior struct {
	// record is the approval of the call, nil if it needed none.
	record *approval.Record
	// round is the adapter's question that is answered now, nil if it has
	// asked none.
	round *state
	// link is what it came back from, nil if it was not sent to a page.
	link *linked
}

// pending reports whether nobody has decided yet.
func (p *prior) pending() bool {
	return p != nil && p.record != nil && p.record.Status == approval.Pending
}

// edited reports whether an operator has changed what was asked for.
func (p *prior) edited() bool { return p != nil && p.record != nil && p.record.Edited != nil }

// spend says in an intent what this round uses up.
func (p *prior) spend(in *Intent) {
	if p == nil {
		return
	}
	if p.round != nil {
		in.Round, in.RoundUntil = p.round.Round, p.round.until()
		return // its approval was spent with the first round
	}
	if p.record != nil {
		in.Approval = p.record.ID
	}
}

// answered returns the adapter's own state and the answers to its questions.
func (p *prior) answered(c *tool.Case) ([]byte, map[string]json.RawMessage) {
	if p == nil || p.round == nil {
		return nil, nil
	}
	return p.round.State, c.Answers
}

// prior finds what the call comes back for. It makes the case what it was then:
// its ids, and as arguments the stored ones, asked or edited; those that came
// now are only compared.
func (x *Executor) prior(ctx context.Context, c *tool.Case) (*prior, *tool.Error) {
	switch {
	case len(c.State) > 0:
		return x.byState(ctx, c)
	case c.Key != "" && x.Approvals != nil:
		return x.byKey(ctx, c)
	default:
		return nil, nil
	}
}

// byKey finds a pending result of this principal. A key that names none is
// ignored.
func (x *Executor) byKey(ctx context.Context, c *tool.Case) (*prior, *tool.Error) {
	r, err := x.Approvals.OfCall(ctx, c.Principal.String(), tool.ScopedID(tool.PrefixCall, c.Principal, c.Key))
	if errors.Is(err, approval.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, tool.Failed("journal", err)
	}
	if r.Run != c.RunID || r.Tool != c.Spec.Name || !sameArgs(r.Args, c.Args) {
		return &prior{record: r}, tool.Errorf(tool.ApprovalDenied, "approval_mismatch",
			"this is not the call that is waiting for approval: same tool, same arguments and both keys are needed; nothing was run")
	}
	return x.decided(c, r)
}

// decided goes on with an approval as it stands.
func (x *Executor) decided(c *tool.Case, r *approval.Record) (*prior, *tool.Error) {
	c.ID, c.RunID = r.Call, r.Run
	p := &prior{record: r}
	switch r.Status {
	case approval.Pending:
		return p, nil
	case approval.Approved:
	case approval.Denied, approval.Used, approval.Expired, approval.Withdrawn:
		return p, notApproved(c, r.Status, r.Running, r.Reason)
	default:
		return p, notApproved(c, r.Status, false, "")
	}
	if r.Spec != c.Spec.Digest || r.Origin != c.Origin || r.Adapter != c.Spec.Adapter {
		return p, stale(c)
	}
	return p, adopt(c, r)
}

// adopt makes the approved arguments those of the case.
func adopt(c *tool.Case, r *approval.Record) *tool.Error {
	args, err := tool.ParseArgs(r.Runs())
	if err != nil {
		return tool.Failed("journal", fmt.Errorf("arguments of approval %s: %w", r.ID, err))
	}
	c.Args, c.Approval, c.ApprovedBy = args, r.ID, r.DecidedBy
	return nil
}

// sameArgs compares stored arguments with those that came: by value, whatever
// the spelling.
func sameArgs(stored []byte, args tool.JSON) bool {
	j, err := tool.ParseArgs(stored)
	return err == nil && j.Digest() == args.Digest()
}

// notApproved words an approval that cannot be used.
func notApproved(c *tool.Case, s approval.Status, running bool, reason string) *tool.Error {
	code, text := "approval_"+string(s), "the approval is "+string(s)
	switch s {
	case approval.Denied:
		code, text = "approval_declined", "the call was not approved"
		if reason != "" {
			text += ": " + reason
		}
	case approval.Used:
		code, text = "approval_used", "the approval was used already"
		if running {
			code, text = "approval_busy", "the approved call is running already"
		}
	case approval.Expired:
		text = "the approval has expired; call again to ask anew"
	case approval.Withdrawn:
		text = "the call was withdrawn; call again to ask anew"
	case approval.Pending, approval.Approved:
	}
	return tool.Errorf(tool.ApprovalDenied, code, "%s was not run: %s", c.Spec.Name, text)
}

func stale(c *tool.Case) *tool.Error {
	return tool.Errorf(tool.ApprovalDenied, "approval_stale",
		"%s was not run: the tool, its adapter or the rules have changed since it was asked for; call again to ask anew", c.Spec.Name)
}

// identify says in a row which call it is, by its approval too.
func (x *Executor) identify(row *tally, c *tool.Case, p *prior) {
	row.Call, row.Run = c.ID, c.RunID
	if p == nil || p.record == nil {
		return
	}
	row.Approval, row.DecidedBy = p.record.ID, p.record.DecidedBy
	if p.record.Edited != nil && c.Approval != "" {
		if asked, err := tool.ParseArgs(p.record.Args); err == nil {
			row.Asked = x.keyed(asked)
		}
	}
}
