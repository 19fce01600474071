// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Columns in the order in which rows are bound and scanned. Those of an intent
// are what is known of a call before it is sent. An empty text and a zero digest
// are NULL; a NULL in a column that must not be NULL refuses the row.
const (
	begunColumns = `host, call, run, attempt, started, principal, op, tool, adapter, effects, spec, args,
		client, protocol, asked, approval, decided_by`
	endedColumns = `ended, outcome, error_kind, error_code, detail, ran, gate, result_bytes, cost, late`
	rowColumns   = begunColumns + ", " + endedColumns
	linkColumns  = "chain_n, hash"

	insertIntent = `INSERT INTO intents (` + begunColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertRow = `INSERT INTO ledger (seq, ` + rowColumns + `, ` + linkColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// binder binds the parameters of a statement one after the other.
type binder struct {
	stmt *sqlite3.Stmt
	at   int
	err  error
}

func (b *binder) done(err error) {
	if b.err == nil {
		b.err = err
	}
}

// text binds s, the empty one too.
func (b *binder) text(s string) {
	b.at++
	b.done(b.stmt.BindText(b.at, s))
}

// some binds s, NULL if it is empty.
func (b *binder) some(s string) {
	if s == "" {
		b.at++
		b.done(b.stmt.BindNull(b.at))
		return
	}
	b.text(s)
}

func (b *binder) number(n int64) {
	b.at++
	b.done(b.stmt.BindInt64(b.at, n))
}

// time binds t in microseconds since 1970, NULL if it is zero.
func (b *binder) time(t time.Time) {
	if t.IsZero() {
		b.some("")
		return
	}
	b.number(t.UnixMicro())
}

func (b *binder) flag(set bool) {
	b.at++
	b.done(b.stmt.BindBool(b.at, set))
}

// blob binds p, NULL if it is nil.
func (b *binder) blob(p []byte) {
	if p == nil {
		b.some("")
		return
	}
	b.at++
	b.done(b.stmt.BindBlob(b.at, p))
}

func (b *binder) digest(d *tool.Digest) {
	if d.IsZero() {
		b.some("")
		return
	}
	b.at++
	b.done(b.stmt.BindBlob(b.at, d[:]))
}

func (b *binder) begun(r *ledger.Row) {
	b.text(r.Host)
	b.some(r.Call)
	b.some(r.Run)
	b.number(int64(r.Attempt))
	b.time(r.Started)
	b.text(r.Principal)
	b.text(string(r.Op))
	b.text(r.Tool)
	b.some(r.Adapter)
	b.some(string(r.Effects))
	b.digest(&r.Spec)
	b.digest(&r.Args)
	b.some(r.Client)
	b.some(r.Protocol)
	b.digest(&r.Asked)
	b.some(r.Approval)
	b.some(r.DecidedBy)
}

func (b *binder) ended(r *ledger.Row) {
	b.time(r.Ended)
	b.some(string(r.Outcome))
	b.some(string(r.Kind))
	b.some(r.Code)
	b.some(r.Detail)
	b.some(string(r.Ran))
	b.some(r.Gate)
	b.number(r.ResultBytes)
	b.some(r.Cost)
	b.flag(r.Late)
}

// bindIntent binds the parameters of insertIntent.
func bindIntent(stmt *sqlite3.Stmt, r *ledger.Row) error {
	b := binder{stmt: stmt}
	b.begun(r)
	return b.err
}

// bindRow binds the parameters of insertRow.
func bindRow(stmt *sqlite3.Stmt, r *ledger.Row, link *ledger.Head) error {
	b := binder{stmt: stmt}
	b.number(r.Seq)
	b.begun(r)
	b.ended(r)
	b.number(link.N)
	b.digest(&link.Hash)
	return b.err
}

// scanner reads the columns of a result one after the other.
type scanner struct {
	stmt *sqlite3.Stmt
	at   int
}

func (s *scanner) text() string {
	s.at++
	return s.stmt.ColumnText(s.at - 1)
}

func (s *scanner) number() int64 {
	s.at++
	return s.stmt.ColumnInt64(s.at - 1)
}

func (s *scanner) time() time.Time {
	if s.stmt.ColumnType(s.at) == sqlite3.NULL {
		s.at++
		return time.Time{}
	}
	return time.UnixMicro(s.number()).UTC()
}

func (s *scanner) flag() bool { return s.number() != 0 }

// blob reads a copy, nil of NULL.
func (s *scanner) blob() []byte {
	s.at++
	if s.stmt.ColumnType(s.at-1) == sqlite3.NULL {
		return nil
	}
	return s.stmt.ColumnBlob(s.at-1, []byte{})
}

func (s *scanner) digest() (d tool.Digest) {
	s.at++
	copy(d[:], s.stmt.ColumnRawBlob(s.at-1))
	return d
}

func (s *scanner) begun(r *ledger.Row) {
	r.Host = s.text()
	r.Call = s.text()
	r.Run = s.text()
	r.Attempt = int(s.number())
	r.Started = s.time()
	r.Principal = s.text()
	r.Op = tool.Op(s.text())
	r.Tool = s.text()
	r.Adapter = s.text()
	r.Effects = tool.Effects(s.text())
	r.Spec = s.digest()
	r.Args = s.digest()
	r.Client = s.text()
	r.Protocol = s.text()
	r.Asked = s.digest()
	r.Approval = s.text()
	r.DecidedBy = s.text()
}

func (s *scanner) ended(r *ledger.Row) {
	r.Ended = s.time()
	r.Outcome = ledger.Outcome(s.text())
	r.Kind = tool.Kind(s.text())
	r.Code = s.text()
	r.Detail = s.text()
	r.Ran = tool.Ran(s.text())
	r.Gate = s.text()
	r.ResultBytes = s.number()
	r.Cost = s.text()
	r.Late = s.flag()
}

// scanIntent reads begunColumns.
func scanIntent(stmt *sqlite3.Stmt) (r ledger.Row) {
	s := scanner{stmt: stmt}
	s.begun(&r)
	return r
}

// row reads seq and rowColumns.
func (s *scanner) row() (r ledger.Row) {
	r.Seq = s.number()
	s.begun(&r)
	s.ended(&r)
	return r
}

// scanRow reads seq and rowColumns.
func scanRow(stmt *sqlite3.Stmt) ledger.Row {
	s := scanner{stmt: stmt}
	return s.row()
}
