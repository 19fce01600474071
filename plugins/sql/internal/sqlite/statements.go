// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"container/list"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// statement is a statement that was judged and is ready to run.
type statement struct {
	sql    string
	stmt   *sqlite3.Stmt
	header *engine.Header
	params int
	size   int // of the last result, for the next one's buffer
}

func newStatement(sql string, s *sqlite3.Stmt) *statement {
	names := make([]string, s.ColumnCount())
	for i := range names {
		names[i] = s.ColumnName(i)
	}
	return &statement{sql: sql, stmt: s, header: engine.NewHeader(names), params: s.BindCount()}
}

// Bounds of what a connection keeps prepared.
const (
	maxStatements      = 64
	maxStatementsBytes = 256 << 10
)

// statements keeps what was used last.
type statements struct {
	byText map[string]*list.Element
	order  *list.List // most recent first
	bytes  int
}

func newStatements() *statements {
	return &statements{byText: map[string]*list.Element{}, order: list.New()}
}

func (s *statements) get(sql string) *statement {
	e, ok := s.byText[sql]
	if !ok {
		return nil
	}
	s.order.MoveToFront(e)
	st, _ := e.Value.(*statement)
	return st
}

func (s *statements) put(st *statement) {
	s.byText[st.sql] = s.order.PushFront(st)
	s.bytes += len(st.sql)
	for s.order.Len() > 1 && (s.order.Len() > maxStatements || s.bytes > maxStatementsBytes) {
		last, _ := s.order.Back().Value.(*statement)
		s.drop(last)
	}
}

func (s *statements) drop(st *statement) {
	if e, ok := s.byText[st.sql]; ok && e.Value == st {
		delete(s.byText, st.sql)
		s.order.Remove(e)
		s.bytes -= len(st.sql)
	}
	_ = st.stmt.Close()
}

func (s *statements) clear() {
	for s.order.Len() > 0 {
		st, _ := s.order.Front().Value.(*statement)
		s.drop(st)
	}
}
