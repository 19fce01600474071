// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Subscribe judges whether a caller may hear of the changes of a resource, by the
// gates that judge its reading, and records that. What somebody would have to
// decide about is refused. The error is as that of Do.
func (x *Executor) Subscribe(ctx context.Context, call *tool.Call) error {
	entry, release, ok := x.acquire(call)
	if !ok {
		return &UnknownError{call.Op, call.Name}
	}
	defer release()
	policy := x.Policy()
	c := newCase(call, entry.Offer, policy)
	row := x.row(c)
	row.Op = ledger.OpSubscription
	if err := policy.Limits.Admit(c); err != nil {
		return x.turnedAway(ctx, c, !policy.Sees(c.Principal, c.Spec), row, err)
	}
	if !policy.Sees(c.Principal, c.Spec) {
		return x.unknown(ctx, c, policy, row)
	}
	gate, v := x.judge(ctx, c, policy, entry.Offer, nil)
	err := v.Err
	if v.Decision == tool.Ask {
		err = tool.Errorf(tool.ApprovalDenied, "approval_required", "%s cannot be subscribed to: reading it needs approval", c.Spec.Name)
	}
	if err != nil {
		row.Gate = gate
	}
	if err = x.end(ctx, c, row, &tool.Result{}, err); err != nil {
		return err
	}
	return nil
}
