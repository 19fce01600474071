// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"time"
)

// Engine reads one database. It is safe for concurrent use. Errors are
// *toolwharf.Error with a code of this package, or the context's own.
type Engine interface {
	// Query judges one statement and, if nothing is against it, runs it. The
	// answer is one JSON object, as [Result] writes it.
	Query(ctx context.Context, s Statement) (json.RawMessage, error)
	// Tables lists what may be read, by name.
	Tables(ctx context.Context) ([]Table, error)
	// Close waits for running statements and closes every connection.
	Close() error
}

// Statement is one statement as the caller wrote it.
type Statement struct {
	SQL string
	// Params are bound by position, one for each marker.
	Params []Param
	// MaxRows lowers Limits.MaxRows for this statement; 0 leaves it.
	MaxRows int
}

// Table is one thing that may be read.
type Table struct {
	Name string
	Kind Kind
}

// Kind is what a [Table] is.
type Kind string

// The kinds.
const (
	KindTable   Kind = "table"
	KindView    Kind = "view"
	KindVirtual Kind = "virtual"
)

// Limits bound what one statement may take and give.
type Limits struct {
	// MaxRows is a hard cap: one row more is fetched to know whether there are
	// more, and no statement is ever rewritten.
	MaxRows int
	// MaxBytes is the size of a result as JSON. Rows that do not fit are left
	// out.
	MaxBytes int
	// MaxCellBytes is what one value may have before only its head is given.
	MaxCellBytes int
	// Timeout is how long a statement may run.
	Timeout time.Duration
	// Connections is how many statements may run at once.
	Connections int
	// ConnectionWait is how long a statement waits for its turn.
	ConnectionWait time.Duration
}

// Rows is how many rows a statement that asks for n may have.
func (l Limits) Rows(n int) int {
	if n > 0 && n < l.MaxRows {
		return n
	}
	return l.MaxRows
}

// MaxSQLBytes is the longest statement, in bytes.
const MaxSQLBytes = 64 << 10
