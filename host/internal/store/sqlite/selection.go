// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

const (
	// pageRows is how many rows one read takes at most.
	pageRows = 128
	// window is how many rows one read looks at, if it has no index to find
	// them by: some milliseconds.
	window = 8192

	newestSeq = "SELECT max(seq) FROM ledger"
)

// selection is a Query on its way through the ledger.
type selection struct {
	where  string
	args   []func(*binder)
	window int64
	after  int64 // where it has got to
}

func newSelection(q ledger.Query) *selection {
	s := &selection{after: max(q.After, 0), window: window}
	for _, c := range []struct{ column, value string }{
		{"run", q.Run},
		{"call", q.Call},
		{"tool", q.Tool},
		{"adapter", q.Adapter},
		{"principal", q.Principal},
		{"approval", q.Approval},
		{"host", q.Host},
		{"outcome", string(q.Outcome)},
		{"error_kind", string(q.Kind)},
		{"op", string(q.Op)},
	} {
		if c.value != "" {
			s.where += " AND " + c.column + " = ?"
			s.args = append(s.args, func(b *binder) { b.text(c.value) })
		}
	}
	if !q.Since.IsZero() {
		s.where += " AND ended >= ?"
		s.args = append(s.args, func(b *binder) { b.time(q.Since) })
	}
	if !q.Until.IsZero() {
		s.where += " AND ended < ?"
		s.args = append(s.args, func(b *binder) { b.time(q.Until) })
	}
	if q.Run != "" {
		s.window = math.MaxInt64 // by the index
	}
	return s
}

// page appends the next rows up to seq to rows, pageRows at most, and moves on
// by what it has looked at.
func (s *selection) page(conn *sqlite3.Conn, rows []ledger.Row, upTo int64) ([]ledger.Row, error) {
	hi := upTo
	if hi-s.after > s.window {
		hi = s.after + s.window
	}
	n := 0
	err := s.query(conn, "seq, "+rowColumns, "ASC", s.after, hi, pageRows, func(stmt *sqlite3.Stmt) {
		rows = append(rows, scanRow(stmt))
		n++
	})
	switch {
	case err != nil:
		return nil, err
	case n == pageRows:
		s.after = rows[len(rows)-1].Seq
	default:
		s.after = hi
	}
	return rows, nil
}

// back looks for up to n rows below and at hi, the newest first, and returns how
// many are still to be found, and below which seq: the first row found is the
// next one after it.
func (s *selection) back(conn *sqlite3.Conn, n int, hi int64) (rest int, below int64, err error) {
	lo := s.after
	if hi-lo > s.window {
		lo = hi - s.window
	}
	below = lo
	err = s.query(conn, "seq", "DESC", lo, hi, n, func(stmt *sqlite3.Stmt) {
		n--
		if n == 0 {
			below = stmt.ColumnInt64(0) - 1
		}
	})
	return n, below, err
}

// query reads columns of what is selected in (lo, hi].
func (s *selection) query(
	conn *sqlite3.Conn, columns, order string, lo, hi int64, limit int, scan func(*sqlite3.Stmt),
) error {
	stmt, _, err := conn.Prepare("SELECT " + columns + " FROM ledger WHERE seq > ? AND seq <= ?" + s.where +
		" ORDER BY seq " + order + " LIMIT ?")
	if err != nil {
		return err
	}
	b := binder{stmt: stmt}
	b.number(lo)
	b.number(hi)
	for _, bind := range s.args {
		bind(&b)
	}
	b.number(int64(limit))
	if b.err != nil {
		_ = stmt.Close()
		return b.err
	}
	for stmt.Step() {
		scan(stmt)
	}
	return closeStmt(stmt)
}

// intentsAfter returns the intents of the next calls, pageRows at most.
func intentsAfter(conn *sqlite3.Conn, call string) ([]ledger.Row, error) {
	stmt, _, err := conn.Prepare("SELECT " + begunColumns + " FROM intents WHERE call > ? ORDER BY call LIMIT ?")
	if err != nil {
		return nil, err
	}
	b := binder{stmt: stmt}
	b.text(call)
	b.number(pageRows)
	if b.err != nil {
		_ = stmt.Close()
		return nil, b.err
	}
	var rows []ledger.Row
	for stmt.Step() {
		rows = append(rows, scanIntent(stmt))
	}
	return rows, closeStmt(stmt)
}

// closeStmt returns the error with which a statement ended. One that was
// interrupted before a step has it to itself.
func closeStmt(stmt *sqlite3.Stmt) error {
	err := stmt.Err()
	if closing := stmt.Close(); err == nil {
		err = closing
	}
	return err
}
