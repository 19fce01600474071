// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

func TestTheRowCapHoldsWhateverTheStatementLooksLike(t *testing.T) {
	limits := testLimits
	limits.MaxRows = 3
	d := open(t, fixture(t), limits, "orders")
	for _, c := range []struct {
		sql       string
		maxRows   int
		rows      int
		truncated bool
	}{
		{"SELECT id FROM orders", 0, 3, true},
		{"SELECT id FROM orders LIMIT 3", 0, 3, false},
		{"SELECT id FROM orders LIMIT 4", 0, 3, true},
		{"SELECT id FROM orders LIMIT 2", 0, 2, false},
		{"SELECT id FROM orders LIMIT 0", 0, 0, false},
		{"SELECT id FROM (SELECT id FROM orders LIMIT 4)", 0, 3, true},
		{"SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4", 0, 3, true},
		{"SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3", 0, 3, false},
		{"WITH t AS (SELECT id FROM orders) SELECT id FROM t", 0, 3, true},
		{"VALUES (1), (2), (3), (4)", 0, 3, true},
		{"VALUES (1), (2), (3)", 0, 3, false},
		{"WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT x FROM c", 0, 3, true},
		{"SELECT id FROM orders", 1, 1, true},
		{"SELECT id FROM orders LIMIT 1", 1, 1, false},
		{"SELECT id FROM orders", 1000, 3, true}, // asking for more does not help
		{"SELECT id FROM orders", -1, 3, true},
	} {
		raw, err := d.Query(t.Context(), engine.Statement{SQL: c.sql, MaxRows: c.maxRows})
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		var a answer
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
		if len(a.Rows) != c.rows || a.Truncated != c.truncated || a.RowCount != c.rows || (a.TruncatedBy == "rows") != c.truncated {
			t.Errorf("%s (max_rows %d): %s", c.sql, c.maxRows, raw)
		}
	}
}

func TestLargeResultsStopAtTheirLimits(t *testing.T) {
	limits := testLimits
	limits.MaxBytes = 64 << 10
	limits.MaxRows = 10_000
	path := newFile(t,
		"CREATE TABLE wide(id INT, cell, other)",
		"INSERT INTO wide VALUES (1, zeroblob(50000000), 'x'), (2, hex(zeroblob(25000000)), 'y')",
		"CREATE TABLE many AS WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 10000) SELECT x, hex(randomblob(50)) AS h FROM c",
	)
	d := open(t, path, limits, "wide", "many")

	a := mustQuery(t, d, "SELECT * FROM wide")
	if len(a.Rows) != 2 || a.Truncated {
		t.Fatalf("%d rows, truncated %v", len(a.Rows), a.Truncated)
	}
	for i, head := range []string{"head_base64", "head"} {
		cell, _ := a.Rows[i]["cell"].(map[string]any)
		if cell["$truncated"] != true || cell["bytes"] != 50e6 || cell[head] == nil {
			t.Errorf("row %d: %.100v", i, cell)
		}
	}

	raw, err := query(t, d, "SELECT * FROM many")
	if err != nil {
		t.Fatal(err)
	}
	a = mustQuery(t, d, "SELECT * FROM many")
	if len(raw) > limits.MaxBytes || len(raw) < limits.MaxBytes/2 || a.TruncatedBy != "bytes" || !a.Truncated {
		t.Errorf("%d bytes, truncated by %q", len(raw), a.TruncatedBy)
	}

	columns := strings.TrimSuffix(strings.Repeat("hex(zeroblob(6000)),", 90), ",")
	a = mustQuery(t, d, "SELECT "+columns)
	if len(a.Rows) != 0 || a.TruncatedBy != "bytes" || len(a.Warnings) != 1 {
		t.Errorf("a row that does not fit: %d rows, truncated by %q, warnings %q", len(a.Rows), a.TruncatedBy, a.Warnings)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	d := open(t, fixture(t), testLimits, "orders")
	for _, sql := range []string{
		"SELECT length(hex(zeroblob(20000000)) || hex(zeroblob(20000000)))",
		"SELECT group_concat(hex(zeroblob(1000000))) FROM generate_series(1, 1000)",
		"SELECT value FROM (SELECT value, hex(zeroblob(1000000)) || value AS b FROM generate_series(1, 1000)) ORDER BY b",
	} {
		_, err := query(t, d, sql)
		if code(err) != engine.CodeDBError {
			t.Errorf("%s: %v", sql, err)
		}
		mustQuery(t, d, "SELECT count(*) FROM orders") // and goes on
	}
}
