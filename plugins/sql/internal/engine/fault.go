// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// Codes of the refusals, stable for programs.
const (
	CodeNotSelect           = "not_select"
	CodeMultipleStatements  = "multiple_statements"
	CodeComment             = "comment"
	CodeTableNotAllowed     = "table_not_allowed"
	CodeFunctionNotAllowed  = "function_not_allowed"
	CodeConstructNotAllowed = "construct_not_allowed"
	CodeSyntax              = "syntax"
	CodeBindCount           = "bind_count"
	CodeBindValue           = "bind_value"
	CodeTimeout             = "timeout"
	CodePoolBusy            = "pool_busy"
	CodeDBError             = "db_error"
	CodeUnavailable         = "database_unavailable"
)

// NotSelect refuses a statement that does something else than read. found is
// the word that says so.
func NotSelect(found string) error {
	return toolwharf.Denied(CodeNotSelect, "only SELECT, WITH ... SELECT and VALUES are allowed; found "+shorten(found))
}

// MultipleStatements refuses a second statement, which starts at offset.
func MultipleStatements(offset int) error {
	return toolwharf.Denied(CodeMultipleStatements, fmt.Sprintf("send one statement; found a second one at offset %d", offset))
}

// Comment refuses a comment, which starts at offset.
func Comment(offset int) error {
	return toolwharf.Denied(CodeComment, fmt.Sprintf("comments are not allowed (offset %d); remove them", offset))
}

// TableNotAllowed refuses a table. Its text is the same whether the table
// exists or not: it tells nobody what else there is. name is as the caller
// wrote it; empty when the caller did not write it.
func TableNotAllowed(name string) error {
	if name == "" {
		return toolwharf.Denied(CodeTableNotAllowed, "the statement reads a table that is not in allowed_tables (list_tables shows what is readable)")
	}
	return toolwharf.Denied(CodeTableNotAllowed, "table "+shorten(name)+" is not in allowed_tables (list_tables shows what is readable)")
}

// FunctionNotAllowed refuses a function that is unknown or not known to be
// harmless.
func FunctionNotAllowed(name string) error {
	return toolwharf.Denied(CodeFunctionNotAllowed, "function "+shorten(name)+" does not exist or is not allowed")
}

// ConstructNotAllowed refuses a part of SQL that is not needed for reading.
func ConstructNotAllowed(what string) error {
	return toolwharf.Denied(CodeConstructNotAllowed, what+" is not allowed")
}

// Syntax says that the text is not SQL.
func Syntax(text string) error { return toolwharf.Invalid(CodeSyntax, text) }

// SyntaxAt says where the text stops being SQL.
func SyntaxAt(near string, offset int) error {
	return Syntax(fmt.Sprintf("syntax error at or near %q (offset %d)", shorten(near), offset))
}

// BindCount says that markers and parameters are not equally many.
func BindCount(markers, given int) error {
	return toolwharf.Invalid(CodeBindCount, fmt.Sprintf("the statement has %d parameters, %d given", markers, given))
}

// BindValue says that a parameter is of no use.
func BindValue(n int, text string) error {
	return toolwharf.Invalid(CodeBindValue, fmt.Sprintf("params[%d]: %s", n, text))
}

// Timeout says that a statement was stopped because it took too long.
func Timeout(limit time.Duration) error {
	return &toolwharf.Error{
		Kind: toolwharf.KindTimeout,
		Code: CodeTimeout,
		Text: fmt.Sprintf("the query exceeded statement_timeout %s and was stopped; narrow it", limit),
		Ran:  toolwharf.RanNo,
	}
}

// PoolBusy says that all connections had work for too long.
func PoolBusy(waited time.Duration, connections int) error {
	e := toolwharf.ToolError(CodePoolBusy, fmt.Sprintf("waited %s for a free connection, all %d are busy; try again", waited, connections))
	e.RetryAfter, e.Ran = waited, toolwharf.RanNo
	return e
}

// DBError passes on what the database says of a statement. text has no DSN and
// no path.
func DBError(text string) error {
	e := toolwharf.ToolError(CodeDBError, text)
	e.Ran = toolwharf.RanNo
	return e
}

// Unavailable is a fault of the database itself: the model learns that there
// is one, the operator which.
func Unavailable(err error) error {
	e := toolwharf.Failed(CodeUnavailable, err)
	e.Text, e.Ran = "the database cannot be read at the moment", toolwharf.RanNo
	return e
}

// shorten keeps what a caller wrote from filling an error.
func shorten(s string) string {
	const limit = 128
	if len(s) <= limit {
		return s
	}
	for i := range s {
		if i > limit-4 {
			return s[:i] + "..."
		}
	}
	return s
}
