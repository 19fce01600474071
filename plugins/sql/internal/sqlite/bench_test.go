// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

func benchmarkFile(b *testing.B) string {
	b.Helper()
	return newFile(b, `
		CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT, status TEXT, total TEXT, note TEXT, created_at TEXT);
		WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 10000)
		INSERT INTO orders SELECT x, 'customer-' || (x % 500), 'open', x || '.90', 'a note of some length', '2026-01-02T03:04:05Z' FROM c;
	`)
}

func BenchmarkPointQuery(b *testing.B) {
	d := open(b, benchmarkFile(b), testLimits, "orders")
	b.ReportAllocs()
	id := int64(0)
	for b.Loop() {
		id = id%10000 + 1
		_, err := d.Query(b.Context(), engine.Statement{
			SQL: "SELECT * FROM orders WHERE id = ?", Params: []engine.Param{{Kind: engine.ParamInt, Int: id}},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHundredRows(b *testing.B) {
	d := open(b, benchmarkFile(b), testLimits, "orders")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Query(b.Context(), engine.Statement{SQL: "SELECT * FROM orders LIMIT 100"}); err != nil {
			b.Fatal(err)
		}
	}
}

// Each statement is new, so each is judged.
func BenchmarkJudge(b *testing.B) {
	d := open(b, benchmarkFile(b), testLimits, "orders")
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if _, err := d.Query(b.Context(), engine.Statement{SQL: fmt.Sprintf("SELECT * FROM orders WHERE id = %d", n)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	path := benchmarkFile(b)
	for b.Loop() {
		d, err := Open(b.Context(), path, Options{Tables: []string{"orders"}, Limits: testLimits})
		if err != nil {
			b.Fatal(err)
		}
		_ = d.Close()
	}
}
