// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const pendingApprovals = "SELECT count(*) FROM approvals INDEXED BY approvals_pending WHERE status = 'pending' AND expires > " + clock

// Ask writes a pending approval, which expires after a time, and returns it once
// it is on the disk. An empty ID is given one. It counts what is pending in the
// mode of r against q and returns approval.ErrQuota at the bound. If the
// principal has an approval of the call already, it returns an
// *approval.StatusError of that one. After an error, also one of ctx, nothing
// was written.
func (s *Store) Ask(
	ctx context.Context, r approval.Record, expires time.Duration, q approval.Quota,
) (*approval.Record, error) {
	if r.ID == "" {
		r.ID = tool.NewID(tool.PrefixApproval)
	}
	if err := askable(&r, expires); err != nil {
		return nil, fmt.Errorf("ask for %s: %w", r.Call, err)
	}
	err := s.do(ctx, sizeOf(&r), func(w *writer) error { return w.ask(&r, expires, q) })
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", r.Call, err)
	}
	return &r, nil
}

// askable refuses what could never be decided or spent.
func askable(r *approval.Record, expires time.Duration) error {
	switch {
	case r.Mode == "" || r.Principal == "" || r.Call == "" || r.Tool == "":
		return errors.New("an approval has a mode, a principal, a call and a tool")
	case r.Args == nil || r.Edited != nil:
		return errors.New("an approval is asked for with the arguments as they came")
	case expires < time.Millisecond:
		return fmt.Errorf("it would expire after %v", expires)
	case sizeOf(r) > 2*store.MaxRow:
		return fmt.Errorf("%w: an approval of %d bytes", store.ErrTooLarge, sizeOf(r))
	default:
		return nil
	}
}

func sizeOf(r *approval.Record) int {
	return len(r.ID) + len(r.Principal) + len(r.Run) + len(r.Call) + len(r.Tool) + len(r.Adapter) +
		len(r.Why) + len(r.Args)
}

// Decide decides a pending approval and records that in the ledger, by d.By; it
// returns the approval once both are on the disk. It returns approval.ErrNone,
// or an *approval.StatusError if it is not pending. After an error, also one of
// ctx, nothing was written.
func (s *Store) Decide(ctx context.Context, id string, d approval.Decision) (r *approval.Record, err error) {
	switch {
	case d.By == "":
		err = errors.New("somebody has to decide")
	case !d.Approve && d.Edited != nil:
		err = errors.New("a denial edits nothing")
	case len(d.Edited)+len(d.Reason) > 2*store.MaxRow:
		err = store.ErrTooLarge
	default:
		err = s.do(ctx, len(d.Edited)+len(d.Reason), func(w *writer) (err error) {
			r, err = w.decide(id, d)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("decide %s: %w", id, err)
	}
	return r, nil
}

// Withdraw ends a pending approval whose caller has gone, and records that in
// the ledger. One that is not pending is left as it is. It returns
// approval.ErrNone.
func (s *Store) Withdraw(ctx context.Context, id string) error {
	if err := s.do(ctx, 0, func(w *writer) error { return w.withdraw(id) }); err != nil {
		return fmt.Errorf("withdraw %s: %w", id, err)
	}
	return nil
}

// do has the writer do something durable, or nothing.
func (s *Store) do(ctx context.Context, size int, do func(*writer) error) error {
	return s.queue.wait(ctx, &request{kind: task, do: do, size: size})
}

func (w *writer) ask(r *approval.Record, expires time.Duration, q approval.Quota) error {
	var known *approval.Record
	err := w.query(approvalByCall,
		func(b *binder) {
			b.text(r.Principal)
			b.text(r.Call)
		},
		func(s *scanner) { known = s.approval() })
	switch {
	case err != nil:
		return err
	case known != nil:
		return statusError(known)
	}
	if err := w.within(r, q); err != nil {
		return err
	}
	r.Status, r.Running = approval.Pending, false
	r.Created = time.UnixMicro(w.tx.now).UTC()
	r.Expires = time.UnixMicro(w.tx.now + expires.Microseconds()).UTC()
	r.Decided, r.DecidedBy, r.Reason = time.Time{}, "", ""
	if err := w.exec(insertApproval, func(b *binder) { b.approval(r) }); err != nil {
		return err
	}
	w.at("asked")
	return w.post(approval.EventPending, r)
}

// within returns approval.ErrQuota if one more would be too many.
func (w *writer) within(r *approval.Record, q approval.Quota) error {
	for _, c := range []struct {
		most      int
		sql       string
		principal bool
	}{
		{q.PerPrincipal, `SELECT count(*) FROM approvals INDEXED BY approvals_asked
			WHERE status = 'pending' AND mode = ? AND expires > ? AND principal = ?`, true},
		{q.Total, `SELECT count(*) FROM approvals INDEXED BY approvals_pending
			WHERE status = 'pending' AND mode = ? AND expires > ?`, false},
	} {
		if c.most <= 0 {
			continue
		}
		var n int64
		err := w.query(c.sql,
			func(b *binder) {
				b.text(string(r.Mode))
				b.number(w.tx.now)
				if c.principal {
					b.text(r.Principal)
				}
			},
			func(s *scanner) { n = s.number() })
		switch {
		case err != nil:
			return err
		case n >= int64(c.most):
			return approval.ErrQuota
		}
	}
	return nil
}

// approval returns the one of this id, or approval.ErrNone.
func (w *writer) approval(id string) (r *approval.Record, err error) {
	err = w.query(approvalByID,
		func(b *binder) { b.text(id) },
		func(s *scanner) { r = s.approval() })
	if err == nil && r == nil {
		err = approval.ErrNone
	}
	return r, err
}

func (w *writer) decide(id string, d approval.Decision) (*approval.Record, error) {
	r, err := w.approval(id)
	switch {
	case err != nil:
		return nil, err
	case r.Status != approval.Pending:
		return nil, statusError(r)
	}
	r.Status = approval.Denied
	if d.Approve {
		r.Status, r.Edited = approval.Approved, d.Edited
	}
	r.DecidedBy, r.Reason = d.By, d.Reason
	return r, w.settleApproval(r)
}

func (w *writer) withdraw(id string) error {
	r, err := w.approval(id)
	if err != nil || r.Status != approval.Pending {
		return err
	}
	r.Status, r.DecidedBy = approval.Withdrawn, r.Principal
	return w.settleApproval(r)
}

// settleApproval writes what has become of a pending approval, and the row that
// says so.
func (w *writer) settleApproval(r *approval.Record) error {
	r.Decided = time.UnixMicro(w.tx.now).UTC()
	err := w.exec("UPDATE approvals SET status = ?, decided = ?, decided_by = ?, reason = ?, edited = ? WHERE id = ?",
		func(b *binder) {
			b.text(string(r.Status))
			b.time(r.Decided)
			b.text(r.DecidedBy)
			b.text(r.Reason)
			b.blob(r.Edited)
			b.text(r.ID)
		})
	if err != nil {
		return err
	}
	w.at("decided")
	row := w.decision(r)
	if err := w.appendRow(&row); err != nil {
		return err
	}
	w.at("decision recorded")
	w.tx.decided = append(w.tx.decided, r.ID)
	return w.post(approval.EventDecided, r)
}

// decision is the row of a decision.
func (w *writer) decision(r *approval.Record) ledger.Row {
	row := ledger.Row{
		Started: r.Decided, Ended: r.Decided,
		Call: r.Call, Run: r.Run, Principal: r.DecidedBy, Op: ledger.OpDecision,
		Tool: r.Tool, Adapter: r.Adapter, Effects: r.Effects, Spec: r.Spec,
		Args: w.digest(r.Runs()), Approval: r.ID, DecidedBy: r.DecidedBy,
		Outcome: ledger.Outcome(r.Status), Detail: r.Reason,
	}
	if r.Edited != nil {
		row.Asked = w.digest(r.Args)
	}
	return row
}
