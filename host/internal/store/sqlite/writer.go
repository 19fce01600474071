// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

// checkpointPages is how long the log may grow, in pages of 4 KiB, before it is
// copied into the database.
const checkpointPages = 1000

// writer owns the connection that writes.
type writer struct {
	conn  *sqlite3.Conn
	queue *queue
	bell  *bell
	log   *slog.Logger
	spill func(ledger.Row, error)

	begin, commit, rollback *sqlite3.Stmt
	anyIntent               *sqlite3.Stmt
	addIntent, endIntent    *sqlite3.Stmt
	addRow                  *sqlite3.Stmt

	full  bool // synchronous is FULL, else NORMAL
	pages int  // in the log after the last commit

	mu    sync.Mutex
	fared store.Health

	closed error // of closing the connection; valid once run has returned
}

// newWriter prepares the statements. The writer takes the connection over.
func newWriter(conn *sqlite3.Conn, q *queue, b *bell, opts Options) (*writer, error) {
	w := &writer{conn: conn, queue: q, bell: b, log: opts.Log, spill: opts.Spill}
	for _, s := range []struct {
		stmt **sqlite3.Stmt
		sql  string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.anyIntent, "SELECT EXISTS (SELECT 1 FROM intents)"},
		{&w.addIntent, insertIntent},
		{&w.endIntent, "DELETE FROM intents WHERE call = ?"},
		{&w.addRow, insertRow},
	} {
		stmt, _, err := conn.PrepareFlags(s.sql, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return nil, fmt.Errorf("preparing %q: %w", s.sql, err)
		}
		*s.stmt = stmt
	}
	conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.pages = pages
		return nil
	})
	w.full = true
	return w, conn.Exec("PRAGMA synchronous = FULL")
}

// run writes until the queue is closed and empty, then closes the connection.
func (w *writer) run() {
	batch := make([]*entry, 0, w.queue.batch)
	for {
		batch = w.queue.take(batch[:0])
		if len(batch) == 0 {
			break
		}
		w.write(batch)
		if w.pages >= checkpointPages {
			w.checkpoint()
		}
	}
	w.closed = w.close()
}

// write commits a batch and answers for every entry of it.
func (w *writer) write(batch []*entry) {
	batch = w.claim(batch)
	if len(batch) == 0 {
		return
	}
	err := w.transact(batch)
	if err != nil && len(batch) > 1 && !ofStore(err) {
		// Something in the batch spoils the transaction as a whole: each on its
		// own, so that it fails alone.
		for i := range batch {
			one := batch[i : i+1]
			w.answer(one, w.transact(one))
		}
		return
	}
	w.answer(batch, err)
}

// claim drops the intents whose callers have gone, and makes those that stay
// wait for the answer.
func (w *writer) claim(batch []*entry) []*entry {
	kept := batch[:0]
	for _, e := range batch {
		if e.kind == intent && !e.settle(served) {
			w.queue.answered(1)
			w.queue.recycle(e)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// transact writes a batch in one transaction. The error is that of the
// transaction, in which case nothing is written; errors of single entries, which
// leave the others alone, are put into them.
func (w *writer) transact(batch []*entry) error {
	durable := w.queue.isClosed() // the last rows behind are synced too
	for _, e := range batch {
		e.err = nil
		durable = durable || e.waited
	}
	if err := w.synchronous(durable); err != nil {
		return err
	}
	if err := w.begin.Exec(); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	err := w.statements(batch)
	if err == nil {
		err = w.commit.Exec()
	}
	if err != nil && !w.conn.GetAutocommit() {
		if undo := w.rollback.Exec(); undo != nil {
			err = errors.Join(err, undo)
		}
	}
	return err
}

// synchronous switches between FULL and NORMAL, which is possible only outside
// of transactions.
func (w *writer) synchronous(full bool) error {
	if full == w.full {
		return nil
	}
	level := "NORMAL"
	if full {
		level = "FULL"
	}
	if err := w.conn.Exec("PRAGMA synchronous = " + level); err != nil {
		return err
	}
	w.full = full
	return nil
}

// statements runs those of each entry. An error ends the transaction.
func (w *writer) statements(batch []*entry) error {
	begun, err := w.intents()
	if err != nil {
		return err
	}
	for _, e := range batch {
		if e.kind == intent {
			e.err = w.insertIntent(e)
			begun = true
		} else {
			e.err = w.insertRow(e)
		}
		if e.err != nil {
			if ofStore(e.err) || w.conn.GetAutocommit() {
				return e.err
			}
			continue // a failed statement has changed nothing
		}
		if e.kind == record && begun {
			if err := w.removeIntent(e); err != nil {
				return err // not e.err: its row is there
			}
		}
	}
	return nil
}

// intents reports whether any intent is open. Reads, the bulk of the rows, have
// none, and need not look for it one by one.
func (w *writer) intents() (bool, error) {
	found := w.anyIntent.Step() && w.anyIntent.ColumnBool(0)
	return found, w.anyIntent.Reset()
}

func (w *writer) insertIntent(e *entry) error {
	if err := bindIntent(w.addIntent, &e.row); err != nil {
		return err
	}
	err := w.addIntent.Exec()
	if errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY) {
		return store.ErrBegun
	}
	return err
}

func (w *writer) insertRow(e *entry) error {
	if err := bindRow(w.addRow, &e.row); err != nil {
		return err
	}
	return w.addRow.Exec()
}

func (w *writer) removeIntent(e *entry) error {
	if err := w.endIntent.BindText(1, e.row.Call); err != nil {
		return err
	}
	return w.endIntent.Exec()
}

// ofStore reports whether an error concerns the file, the disk or other
// processes: then it is no use to try again row by row.
func ofStore(err error) bool {
	var code sqlite3.ErrorCode
	if !errors.As(err, &code) {
		return false
	}
	switch code { // the rest is about statements and values
	case sqlite3.BUSY, sqlite3.LOCKED, sqlite3.FULL, sqlite3.IOERR, sqlite3.READONLY,
		sqlite3.CANTOPEN, sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.PERM, sqlite3.PROTOCOL,
		sqlite3.NOMEM, sqlite3.SCHEMA, sqlite3.INTERRUPT, sqlite3.MISUSE:
		return true
	default:
		return false
	}
}

// answer counts a batch and then tells the callers. err is that of the
// transaction.
func (w *writer) answer(batch []*entry, err error) {
	var rows, intents int64
	var lost []*entry
	for _, e := range batch {
		if err != nil {
			e.err = err
		}
		if e.kind == record && e.waited && !e.settle(served) {
			e.waited = false // its caller has gone
		}
		switch {
		case e.err != nil && !e.waited:
			lost = append(lost, e)
		case e.err != nil: // its caller is told
		case e.kind == intent:
			intents++
		default:
			rows++
		}
	}
	w.mu.Lock()
	w.fared.Err = nil
	if err == nil {
		w.fared.Commits++
		w.fared.Rows += rows
		w.fared.Intents += intents
	} else if ofStore(err) {
		w.fared.Err = err
	}
	w.mu.Unlock()
	w.lose(lost)
	w.queue.answered(len(batch))
	if err == nil {
		w.bell.ring()
	}
	for _, e := range batch {
		if e.waited {
			e.done <- e.err // and e is the caller's
		} else {
			w.queue.recycle(e)
		}
	}
}

// lose reports entries that could not be written and whose callers cannot be
// told.
func (w *writer) lose(lost []*entry) {
	if len(lost) == 0 {
		return
	}
	last := lost[len(lost)-1]
	w.mu.Lock()
	w.fared.Lost += int64(len(lost))
	w.fared.LostErr = last.err
	w.mu.Unlock()
	w.log.LogAttrs(context.Background(), slog.LevelError, "ledger rows could not be written",
		slog.Int("rows", len(lost)), slog.String("last_call", last.row.Call), slog.Any("error", last.err))
	for _, e := range lost {
		w.spill(e.row, e.err)
	}
}

func (w *writer) health() store.Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fared
}

// checkpoint copies the log into the database, as far as readers let it. What
// it leaves is done after a later commit.
func (w *writer) checkpoint() {
	w.pages = 0
	_, _, err := w.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	if err != nil && !errors.Is(err, sqlite3.BUSY) { // busy: another process is at it
		w.log.LogAttrs(context.Background(), slog.LevelWarn, "store checkpoint failed", slog.Any("error", err))
	}
}

// close ends the connection; the last one of all processes leaves no log.
func (w *writer) close() error {
	w.conn.WALHook(nil)
	for _, s := range []*sqlite3.Stmt{
		w.begin, w.commit, w.rollback, w.anyIntent, w.addIntent, w.endIntent, w.addRow,
	} {
		_ = s.Close() // repeats the error of its last run
	}
	return w.conn.Close()
}
