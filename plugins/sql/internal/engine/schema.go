// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

// Verdict is what a guard thinks of a statement that it lets pass.
type Verdict struct {
	// SQL is what runs: the text that was judged, or what was made of its tree.
	SQL string
	// Tables and Functions are what it reads and calls, each once, sorted.
	Tables    []Name
	Functions []string
	// Params is how many values it wants.
	Params int
}

// Description says what a table is made of.
type Description struct {
	Table
	Columns []Column
	// PrimaryKey are its columns, in order.
	PrimaryKey []string
	// ForeignKeys are those that lead to tables that may be read.
	ForeignKeys []ForeignKey
	Indexes     []Index
}

// Column is one column of a [Description].
type Column struct {
	Name string
	// Type as the database writes it.
	Type     string
	Nullable bool
	// Default is the expression, empty for none.
	Default string
	Comment string
}

// ForeignKey leads from columns of one table to those of another.
type ForeignKey struct {
	Columns    []string
	Table      Name
	References []string
}

// Index is one index of a table. An expression stands in Columns as it is
// written.
type Index struct {
	Name    string
	Columns []string
	Unique  bool
}

// Health is how a database and the role that reads it are.
type Health struct {
	Engine, Version string
	// Findings are rights of the role that a reader does not need, each a
	// sentence; none of them is needed to read.
	Findings []string
	// Open and Busy count connections; Max is the bound.
	Open, Busy, Max int
}
