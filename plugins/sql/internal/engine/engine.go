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
	// Describe says what a table is made of that may be read, and nothing of any
	// other: whether it is forbidden or missing looks the same.
	Describe(ctx context.Context, table Name) (*Description, error)
	// Explain judges a statement and says how the database would run it: any JSON
	// value, in the database's own terms. With analyze it is run as well.
	Explain(ctx context.Context, s Statement, analyze bool) (json.RawMessage, error)
	// Check judges a statement and runs nothing. A refusal is the error that Query
	// would give.
	Check(ctx context.Context, sql string) (*Verdict, error)
	// Sample gives at most n rows of a table, as Query does.
	Sample(ctx context.Context, table Name, n int) (json.RawMessage, error)
	// Health tells of the database as far as it is known; it is no error if it
	// cannot be reached.
	Health(ctx context.Context) Health
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
	// RowsAs is the shape of the rows; empty: objects.
	RowsAs RowsAs
}

// RowsAs is how a [Result] writes rows.
type RowsAs string

// The shapes.
const (
	RowsAsObjects RowsAs = "objects"
	RowsAsArrays  RowsAs = "arrays"
	RowsAsCSV     RowsAs = "csv"
)

// Table is one thing that may be read.
type Table struct {
	// Schema is empty where the database has none.
	Schema string
	Name   string
	Kind   Kind
	// Comment is what whoever made the table says of it.
	Comment string
	// RowsEstimate is the database's own guess; nil: it has none.
	RowsEstimate *int64
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
