// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/corpus"
	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// FuzzGuard asks of any text: if it is allowed, does it touch what is listed
// and nothing else? Who answers is a connection without any guard, by the
// program that it makes of the text.
func FuzzGuard(f *testing.F) {
	for _, line := range corpus.Read(f, corpusFile) {
		f.Add(line.SQL)
	}
	for _, sql := range []string{
		"WITH v_paid AS (SELECT * FROM secrets) SELECT * FROM v_paid",
		"WITH x AS (SELECT * FROM v_paid), secrets AS (SELECT 1) SELECT count(*) FROM secrets, x",
		"SELECT (WITH secrets AS (SELECT 1) SELECT count(*) FROM secrets), (SELECT count(*) FROM secrets)",
		"SELECT * FROM orders o JOIN customers USING (id) WHERE o.id IN (SELECT id FROM v_paid) ORDER BY 1 LIMIT 2",
		"SELECT sum(total) OVER w FROM orders WINDOW w AS (PARTITION BY status)",
		"SELECT id FROM \"orders\" WHERE [status] = 'open' AND `id` = x'00' OR id = ?1 OR id = :a",
		"SELECT * FROM json_each('[1]'), generate_series(1, 3), orders NOT INDEXED",
		"SELECT count(*) FROM docs_content, sqlite_schema, pragma_table_info('secrets')",
		"WITH RECURSIVE c(x) AS MATERIALIZED (SELECT 1 UNION SELECT x + 1 FROM c WHERE x < 3) SELECT * FROM c EXCEPT SELECT id FROM orders",
		"SELECT 1; SELECT 2", "SELECT '--' /* */", "SELECT $a(b), #1, @x", "VALUES (1), (2)",
	} {
		f.Add(sql)
	}
	path := fixture(f)
	limits := testLimits
	limits.MaxRows, limits.Timeout = 5, 50*time.Millisecond
	d := open(f, path, limits, "orders", "customers", "v_paid")
	unguarded, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = unguarded.Close() })
	listed := map[int64]bool{}
	s, _, err := unguarded.Prepare("SELECT rootpage FROM sqlite_schema WHERE tbl_name IN ('orders', 'customers')")
	if err != nil {
		f.Fatal(err)
	}
	for s.Step() {
		listed[s.ColumnInt64(0)] = true
	}
	_ = s.Close()

	f.Fuzz(func(t *testing.T, sql string) {
		raw, err := d.Query(t.Context(), engine.Statement{SQL: sql})
		if err != nil {
			raw = []byte(err.Error())
		}
		if strings.Contains(string(raw), canary) {
			t.Fatalf("the canary is in the answer: %s", raw)
		}
		if strings.HasPrefix(code(err), "unexpected") || code(err) == engine.CodeUnavailable {
			t.Fatalf("an error that explains nothing: %v", err)
		}
		// What the lexer takes for one statement is one to SQLite.
		if _, err := inspect(sql); err != nil {
			return
		}
		s, tail, prepared := unguarded.Prepare(sql)
		if prepared == nil && strings.Trim(tail, "; \t\n\f\r") != "" {
			t.Fatalf("there is a second statement: %q", tail)
		}
		_ = s.Close()
		if err != nil && code(err) != engine.CodeTimeout && code(err) != engine.CodeBindCount {
			return
		}
		s, _, prepared = unguarded.Prepare("EXPLAIN " + sql)
		if prepared != nil {
			if code(err) != engine.CodeTimeout { // which may come before anything else
				t.Fatalf("allowed, but not compiled: %v", prepared)
			}
			return
		}
		defer s.Close()
		for s.Step() {
			switch s.ColumnText(1) {
			case "OpenRead", "ReopenIdx":
				if !listed[s.ColumnInt64(3)] {
					t.Fatalf("reads page %d, which is not listed", s.ColumnInt64(3))
				}
			case "VOpen":
				lower := fold(sql)
				if !strings.Contains(lower, "json") && !strings.Contains(lower, "generate_series") {
					t.Fatal("opens a virtual table")
				}
			case "OpenWrite", "Destroy", "CreateBtree":
				t.Fatalf("%s", s.ColumnText(1))
			}
		}
	})
}
