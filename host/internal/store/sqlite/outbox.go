// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	// maxOutbox bounds what waits for one receiver. Beyond it, a receiver is not
	// told: what it is told of is still in the list of approvals.
	maxOutbox = 10_000
	// keepOutbox is how long something waits for a receiver that no host delivers
	// to any more.
	keepOutbox = 7 * 24 * time.Hour
)

// Due takes over the notice to one receiver that has waited longest, nil if none
// waits: for a time, no other host is given it. Unless Forget or Postpone is called
// within that, it is given again.
func (s *Store) Due(ctx context.Context, receiver string, lease time.Duration) (*approval.Notice, error) {
	waits := false
	err := s.use(ctx, func(conn *sqlite3.Conn) error { // so that a receiver of whom nothing is due costs no write
		return each(conn, "SELECT 1 FROM outbox WHERE receiver = ? AND due <= "+clock+" LIMIT 1",
			func(b *binder) { b.text(receiver) }, func(*scanner) { waits = true })
	})
	if err == nil && waits {
		var n *approval.Notice
		err = s.do(ctx, 0, func(w *writer) (err error) {
			n, err = w.due(receiver, lease)
			return err
		})
		if err == nil {
			return n, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("notices to %s: %w", receiver, err)
	}
	return nil, nil //nolint:nilnil // nothing is due
}

// Forget removes a notice that was delivered, or is given up.
func (s *Store) Forget(ctx context.Context, id string) error {
	return s.notice(ctx, id, "DELETE FROM outbox WHERE id = ?", func(b *binder) { b.text(id) })
}

// Postpone has a notice delivered again after a time.
func (s *Store) Postpone(ctx context.Context, id string, after time.Duration) error {
	return s.notice(ctx, id, "UPDATE outbox SET due = "+clock+" + ? WHERE id = ?", func(b *binder) {
		b.number(after.Microseconds())
		b.text(id)
	})
}

func (s *Store) notice(ctx context.Context, id, sql string, bind func(*binder)) error {
	if err := s.do(ctx, 0, func(w *writer) error { return w.exec(sql, bind) }); err != nil {
		return fmt.Errorf("notice %s: %w", id, err)
	}
	return nil
}

// post writes what receivers are to be told of an approval.
func (w *writer) post(event approval.Event, r *approval.Record) error {
	if r.Mode != approval.Deferred { // whom else it concerns is asked
		return nil
	}
	for _, receiver := range w.receivers[event] {
		err := w.exec(`INSERT INTO outbox (id, receiver, event, approval, status, at, due, attempts)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?6, 0 WHERE (SELECT count(*) FROM outbox WHERE receiver = ?2) < ?7`,
			func(b *binder) {
				b.text(tool.NewID("msg_"))
				b.text(receiver)
				b.text(string(event))
				b.text(r.ID)
				b.text(string(r.Status))
				b.number(w.tx.now)
				b.number(maxOutbox)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) due(receiver string, lease time.Duration) (n *approval.Notice, err error) {
	err = w.query(`UPDATE outbox SET due = ?2 + ?3, attempts = attempts + 1 WHERE seq =
			(SELECT seq FROM outbox WHERE receiver = ?1 AND due <= ?2 ORDER BY due, seq LIMIT 1)
		RETURNING `+noticeColumns,
		func(b *binder) {
			b.text(receiver)
			b.number(w.tx.now)
			b.number(lease.Microseconds())
		},
		func(s *scanner) {
			given := s.notice()
			n = &given
		})
	return n, err
}

// noticeColumns are read in the order of scanner.notice.
const noticeColumns = "id, receiver, event, approval, status, at, attempts"

func (s *scanner) notice() approval.Notice {
	return approval.Notice{
		ID: s.text(), Receiver: s.text(), Event: approval.Event(s.text()), Approval: s.text(),
		Status: approval.Status(s.text()), At: s.time(), Attempt: int(s.number()),
	}
}
