// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/approval"
)

// approvalPage is how many approvals one read takes at most: their arguments may
// be large.
const approvalPage = 16

// OfCall returns a principal's approval of a call, or approval.ErrNone.
func (r *Reader) OfCall(ctx context.Context, principal, call string) (*approval.Record, error) {
	return r.approval(ctx, approvalByCall, principal, call)
}

// Approval returns the approval of this id, or approval.ErrNone. It is for
// operators: it does not ask whose it is.
func (r *Reader) Approval(ctx context.Context, id string) (*approval.Record, error) {
	return r.approval(ctx, approvalByID, id)
}

func (r *Reader) approval(ctx context.Context, sql string, args ...string) (*approval.Record, error) {
	var found *approval.Record
	err := r.use(ctx, func(conn *sqlite3.Conn) error {
		return each(conn, sql,
			func(b *binder) {
				for _, a := range args {
					b.text(a)
				}
			},
			func(s *scanner) { found = s.approval() })
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, fmt.Errorf("%s: %w", args[len(args)-1], approval.ErrNone)
	default:
		return found, nil
	}
}

// Pending is how many approvals wait for a decision.
func (r *Reader) Pending(ctx context.Context) (n int64, err error) {
	err = r.use(ctx, func(conn *sqlite3.Conn) (err error) {
		n, err = readNumber(conn, pendingApprovals)
		return err
	})
	return n, err
}

// Approvals yields the approvals that q selects, in its order. An error, that of
// ctx for example, is the last thing that it yields.
func (r *Reader) Approvals(ctx context.Context, q approval.Query) iter.Seq2[*approval.Record, error] {
	return func(yield func(*approval.Record, error) bool) {
		sel := newApprovalSelection(q)
		for after := sel.first; ; {
			var page []*approval.Record
			err := r.use(ctx, func(conn *sqlite3.Conn) (err error) {
				page, after, err = sel.page(conn, after)
				return err
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, a := range page {
				if !yield(a, nil) {
					return
				}
			}
			if len(page) < approvalPage {
				return
			}
		}
	}
}

// approvalSelection is a Query as SQL.
type approvalSelection struct {
	where, next, order string
	first              int64 // rowid before which all come
	args               []string
}

func newApprovalSelection(q approval.Query) (s approvalSelection) {
	s.next, s.order, s.first = ">", "rowid", 0
	if q.Newest {
		s.next, s.order, s.first = "<", "rowid DESC", math.MaxInt64
	}
	if q.Past != "" {
		s.where += " AND rowid " + s.next + " (SELECT rowid FROM approvals WHERE id = ?)"
		s.args = append(s.args, q.Past)
	}
	for _, c := range []struct{ column, value string }{
		{"mode", string(q.Mode)},
		{"principal", q.Principal},
		{"run", q.Run},
		{"call", q.Call},
		{"tool", q.Tool},
		{"adapter", q.Adapter},
		{approvalStatus, string(q.Status)},
	} {
		if c.value != "" {
			s.where += " AND " + c.column + " = ?"
			s.args = append(s.args, c.value)
		}
	}
	return s
}

// page returns the approvals that come next, and where it has got to.
func (s *approvalSelection) page(conn *sqlite3.Conn, after int64) ([]*approval.Record, int64, error) {
	var page []*approval.Record
	err := each(conn, "SELECT rowid, "+approvalColumns+" FROM approvals WHERE rowid "+s.next+" ?"+s.where+
		" ORDER BY "+s.order+" LIMIT ?",
		func(b *binder) {
			b.number(after)
			for _, a := range s.args {
				b.text(a)
			}
			b.number(approvalPage)
		},
		func(s *scanner) {
			after = s.number()
			page = append(page, s.approval())
		})
	return page, after, err
}

// each gives each row of a result to scan.
func each(conn *sqlite3.Conn, sql string, bind func(*binder), scan func(*scanner)) error {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	if err := step(stmt, bind, scan); err != nil {
		_ = stmt.Close()
		return err
	}
	return closeStmt(stmt)
}
