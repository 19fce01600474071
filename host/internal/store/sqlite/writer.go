// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// checkpointPages is how long the log may grow, in pages of 4 KiB, before it is
// copied into the database.
const checkpointPages = 1000

// writer owns the connection that writes. All of it but what mu guards belongs
// to the one goroutine of run.
type writer struct {
	conn    *sqlite3.Conn
	queue   *queue
	bell    *bell
	waiters *waiters
	log     *slog.Logger
	spill   func(ledger.Row, error)
	digest  func([]byte) tool.Digest
	fault   func(point string)

	receivers map[approval.Event][]string

	begin, commit, rollback *sqlite3.Stmt
	look                    *sqlite3.Stmt
	addIntent, endIntent    *sqlite3.Stmt
	addRow                  *sqlite3.Stmt
	others                  map[string]*sqlite3.Stmt // seldom run, by their SQL

	host  string
	lease lease
	chain chain
	tx    transaction

	full  bool // synchronous is FULL, else NORMAL
	pages int  // in the log after the last commit

	mu    sync.Mutex
	fared store.Health

	closed error // of closing the connection; valid once run has returned
}

// newWriter prepares the statements. The writer takes the connection over.
func newWriter(conn *sqlite3.Conn, q *queue, b *bell, v *waiters, opts Options) (*writer, error) {
	w := &writer{
		conn: conn, queue: q, bell: b, waiters: v,
		log: opts.Log, spill: opts.Spill, digest: opts.Digest, fault: opts.fault, receivers: opts.Receivers,
		others: map[string]*sqlite3.Stmt{},
		host:   opts.Host,
		lease:  lease{term: opts.Lease.Microseconds()},
		chain:  chain{signer: opts.Signer, every: int64(opts.Checkpoint)},
	}
	for _, s := range []struct {
		stmt **sqlite3.Stmt
		sql  string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.look, lookAround},
		{&w.addIntent, insertIntent},
		{&w.endIntent, "DELETE FROM intents WHERE call = ? AND started = ?"},
		{&w.addRow, insertRow},
	} {
		stmt, err := w.prepare(s.sql)
		if err != nil {
			return nil, err
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
	w.farewell()
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

// claim drops the intents and tasks whose callers have gone, and makes those that stay
// wait for the answer.
func (w *writer) claim(batch []*entry) []*entry {
	kept := batch[:0]
	for _, e := range batch {
		if e.kind != record && !e.settle(served) {
			w.queue.answered(1)
			w.queue.recycle(e)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// answer counts a batch and then tells the callers. err is that of the
// transaction.
func (w *writer) answer(batch []*entry, err error) {
	var intents int64
	var lost []*entry
	quiet := true
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
		case e.kind == intent && e.spend.intent:
			intents++
		}
		quiet = quiet && e.quiet
	}
	w.mu.Lock()
	w.fared.Err = nil
	if err == nil {
		if !quiet {
			w.fared.Commits++
		}
		w.fared.Rows += w.tx.rows
		w.fared.Intents += intents
	} else if ofStore(err) {
		w.fared.Err = err
	}
	w.mu.Unlock()
	w.lose(lost)
	w.queue.answered(len(batch))
	if err == nil {
		if w.tx.rows > 0 {
			w.bell.ring()
		}
		w.waiters.wake(w.tx.decided...)
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
		e.row.Seq, e.row.Late = 0, false // as they were given
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
		w.begin, w.commit, w.rollback, w.look, w.addIntent, w.endIntent, w.addRow,
	} {
		_ = s.Close() // repeats the error of its last run
	}
	for _, s := range w.others {
		_ = s.Close() // likewise
	}
	return w.conn.Close()
}
