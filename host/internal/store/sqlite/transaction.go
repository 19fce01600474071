// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// clock is the store's, in microseconds since 1970, of a resolution of one
// millisecond. It stands still while a statement runs.
const clock = "(CAST(unixepoch('subsec') * 1000 + 0.5 AS INTEGER) * 1000)"

// lookAround reads what a transaction has to know. Reads, the bulk of the rows,
// have no intent, and need not look for it one by one.
const lookAround = `SELECT ` + clock + `,
	(SELECT seq FROM sqlite_sequence WHERE name = 'ledger'),
	EXISTS (SELECT 1 FROM intents),
	EXISTS (SELECT 1 FROM lost)`

// transaction is what is known of the one that is being written, and takes
// effect with it.
type transaction struct {
	now     int64 // by the store's clock
	newest  int64 // seq
	begun   bool  // there are intents
	lost    bool  // there are intents that were reported as unknown
	head    ledger.Head
	lease   int64    // when it runs out
	rows    int64    // written
	decided []string // approvals that are not pending any more
	marked  bool     // a checkpoint was written
}

// transact writes a batch in one transaction. The error is that of the
// transaction, in which case nothing is written; errors of single entries, which
// leave the others alone, are put into them.
func (w *writer) transact(batch []*entry) error {
	durable := w.queue.isClosed() // the last rows behind are synced too
	for _, e := range batch {
		e.err = nil
		durable = durable || e.waited && !e.quiet && !e.countsOnly()
	}
	return w.atomically(durable, func() error { return w.statements(batch) })
}

// atomically runs do in a transaction of its own, and signs what it has added to
// the ledger.
func (w *writer) atomically(durable bool, do func() error) error {
	w.tx = transaction{head: w.chain.head, lease: w.lease.until, decided: w.tx.decided[:0]}
	if err := w.synchronous(durable); err != nil {
		return err
	}
	if err := w.begin.Exec(); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	err := w.lookAround()
	if err == nil && w.chain.stale {
		err = w.reload()
	}
	if err == nil {
		err = do()
	}
	if err == nil {
		err = w.sign()
	}
	if err == nil {
		w.at("commit")
		err = w.commit.Exec()
	}
	if err != nil {
		if !w.conn.GetAutocommit() {
			if undo := w.rollback.Exec(); undo != nil {
				err = errors.Join(err, undo)
			}
		}
		w.chain.stale = true
		return err
	}
	w.at("committed")
	w.chain.committed(&w.tx)
	w.lease.until = w.tx.lease
	return nil
}

func (w *writer) lookAround() error {
	if w.look.Step() {
		s := scanner{stmt: w.look}
		w.tx.now, w.tx.newest = s.number(), s.number()
		w.tx.begun, w.tx.lost = s.flag(), s.flag()
	}
	return w.look.Reset()
}

// statements runs those of each entry. An error ends the transaction.
func (w *writer) statements(batch []*entry) error {
	for _, e := range batch {
		var fatal error
		switch e.kind {
		case intent:
			e.err = w.beginCall(e)
		case record:
			e.err, fatal = w.endCall(e)
		case task:
			e.err = w.tentatively(func() error { return e.do(w) })
		}
		switch {
		case fatal != nil:
			return fatal
		case e.err != nil && (ofStore(e.err) || w.conn.GetAutocommit()):
			return e.err
		}
	}
	return nil
}

// tentatively undoes what do has done if that fails, and nothing else.
func (w *writer) tentatively(do func() error) error {
	before := w.tx
	if err := w.exec("SAVEPOINT entry", nil); err != nil {
		return err
	}
	err := do()
	if err == nil {
		return w.exec("RELEASE entry", nil)
	}
	if w.conn.GetAutocommit() {
		return err // the whole transaction has gone
	}
	w.tx = before
	return errors.Join(err, w.exec("ROLLBACK TO entry", nil), w.exec("RELEASE entry", nil))
}

// at is a place at which tests let the process die.
func (w *writer) at(point string) {
	if w.fault != nil {
		w.fault(point)
	}
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
