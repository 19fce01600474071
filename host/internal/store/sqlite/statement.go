// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// prepare returns a statement that is kept.
func (w *writer) prepare(sql string) (*sqlite3.Stmt, error) {
	stmt, _, err := w.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("preparing %q: %w", sql, err)
	}
	return stmt, nil
}

// other returns one of the statements that are seldom run.
func (w *writer) other(sql string) (*sqlite3.Stmt, error) {
	if stmt := w.others[sql]; stmt != nil {
		return stmt, nil
	}
	stmt, err := w.prepare(sql)
	if err == nil {
		w.others[sql] = stmt
	}
	return stmt, err
}

// exec runs a statement, with what bind binds; nil: nothing.
func (w *writer) exec(sql string, bind func(*binder)) error {
	return w.query(sql, bind, func(*scanner) {})
}

// change runs a statement and returns how many rows it has changed.
func (w *writer) change(sql string, bind func(*binder)) (int64, error) {
	if err := w.exec(sql, bind); err != nil {
		return 0, err
	}
	return w.conn.Changes(), nil
}

// query gives each row of a result to scan.
func (w *writer) query(sql string, bind func(*binder), scan func(*scanner)) error {
	stmt, err := w.other(sql)
	if err != nil {
		return err
	}
	if err := step(stmt, bind, scan); err != nil {
		return err
	}
	err = stmt.Reset()
	_ = stmt.ClearBindings() // lets go of texts; never fails
	return err
}

// step gives each row of a statement to scan, with what bind binds; nil:
// nothing. The error is that of the binding; that of a row stays with the
// statement, for whoever resets or closes it.
func step(stmt *sqlite3.Stmt, bind func(*binder), scan func(*scanner)) error {
	b := binder{stmt: stmt}
	if bind != nil {
		bind(&b)
	}
	if b.err != nil {
		return b.err
	}
	for stmt.Step() {
		scan(&scanner{stmt: stmt})
	}
	return nil
}

// exists reports whether a query has a result.
func (w *writer) exists(sql string, bind func(*binder)) (found bool, err error) {
	err = w.query(sql, bind, func(*scanner) { found = true })
	return found, err
}
