// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// canary is in the fixture's table secrets, and must never be in an answer.
const canary = "CANARY-7f3a"

var testLimits = engine.Limits{
	MaxRows: 100, MaxBytes: 1 << 20, MaxCellBytes: 16 << 10,
	Timeout: 10 * time.Second, Connections: 4, ConnectionWait: 2 * time.Second,
}

// newFile makes a database file by running scripts.
func newFile(tb testing.TB, scripts ...string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "test.db")
	write(tb, path, scripts...)
	return path
}

// write runs scripts on the database at path, as another program would.
func write(tb testing.TB, path string, scripts ...string) {
	tb.Helper()
	c := writer(tb, path)
	for _, s := range scripts {
		if err := c.Exec(s); err != nil {
			tb.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		tb.Fatal(err)
	}
}

func writer(tb testing.TB, path string) *sqlite3.Conn {
	tb.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := fts5.Register(c); err != nil {
		tb.Fatal(err)
	}
	return c
}

// fixture makes the database of the corpus.
func fixture(tb testing.TB) string {
	tb.Helper()
	script, err := os.ReadFile("testdata/fixture.sql")
	if err != nil {
		tb.Fatal(err)
	}
	return newFile(tb, string(script))
}

func open(tb testing.TB, path string, l engine.Limits, tables ...string) *DB {
	tb.Helper()
	d, err := Open(tb.Context(), path, Options{Tables: tables, Limits: l})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	return d
}

// answer is a result, as far as most tests look at it.
type answer struct {
	Columns     []string         `json:"columns"`
	Rows        []map[string]any `json:"rows"`
	RowCount    int              `json:"row_count"`
	Truncated   bool             `json:"truncated"`
	TruncatedBy string           `json:"truncated_by"`
	Warnings    []string         `json:"warnings"`
}

func query(tb testing.TB, d *DB, sql string, params ...engine.Param) (string, error) {
	tb.Helper()
	raw, err := d.Query(tb.Context(), engine.Statement{SQL: sql, Params: params})
	return string(raw), err
}

// mustQuery runs a statement that must be allowed and succeed.
func mustQuery(tb testing.TB, d *DB, sql string) answer {
	tb.Helper()
	raw, err := query(tb, d, sql)
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	var a answer
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		tb.Fatalf("%s: %v in %s", sql, err, raw)
	}
	if a.RowCount != len(a.Rows) {
		tb.Errorf("%s: row_count is %d, there are %d rows", sql, a.RowCount, len(a.Rows))
	}
	return a
}

// code is the stable code of an error; empty for none.
func code(err error) string {
	var e *toolwharf.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	}
	return "unexpected: " + err.Error()
}
