// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

func one(t *testing.T, db *sqlite3.Conn, sql string) int {
	t.Helper()
	stmt, _, err := db.Prepare(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer func() { _ = stmt.Close() }()
	if !stmt.Step() {
		t.Fatalf("%s: no row: %v", sql, stmt.Err())
	}
	return stmt.ColumnInt(0)
}

func made(t *testing.T, seed uint64, orders int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.db")
	if err := run(io.Discard, file, orders, seed, false); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheShopIsWholeAndItsReferencesHold(t *testing.T) {
	db, err := sqlite3.Open(made(t, 1, 300))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for sql, want := range map[string]int{
		"SELECT count(*) FROM orders":                   300,
		"SELECT count(*) FROM customers":                50,
		"SELECT count(*) FROM products":                 7,
		"SELECT count(*) FROM reviews":                  150,
		"SELECT count(*) FROM staff_secrets":            4,
		"SELECT count(*) FROM pragma_foreign_key_check": 0,
		"SELECT count(*) FROM orders o WHERE total != (SELECT sum(quantity * price) FROM order_lines WHERE order_id = o.id)": 0,
		"SELECT count(*) FROM pragma_integrity_check WHERE integrity_check != 'ok'":                                          0,
	} {
		if got := one(t, db, sql); got != want {
			t.Errorf("%s: %d, should be %d", sql, got, want)
		}
	}
	if lines := one(t, db, "SELECT count(*) FROM order_lines"); lines < 300 {
		t.Errorf("%d lines in 300 orders", lines)
	}
}

func TestTheUsualShopHasSome50000Rows(t *testing.T) {
	s := newShop(1, 12_000)
	rows := len(s.customers) + len(s.products) + len(s.orders) + len(s.reviews) + len(s.staff)
	for _, o := range s.orders {
		rows += len(o.lines)
	}
	if rows < 45_000 || rows > 55_000 {
		t.Errorf("%d rows", rows)
	}
}

func TestTheSameSeedMakesTheSameFileAndAnotherAnother(t *testing.T) {
	sum := func(seed uint64) [32]byte {
		b, err := os.ReadFile(made(t, seed, 100))
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(b)
	}
	first := sum(1)
	if again := sum(1); again != first {
		t.Error("the same seed made two shops")
	}
	if first == sum(2) {
		t.Error("two seeds made one shop")
	}
}

func TestAFileThatIsThereIsLeftAloneUnlessForced(t *testing.T) {
	file := made(t, 1, 50)
	before, _ := os.ReadFile(file)
	if err := run(io.Discard, file, 50, 2, false); err == nil {
		t.Error("it was overwritten")
	}
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Error("it has changed")
	}
	if err := run(io.Discard, file, 50, 2, true); err != nil {
		t.Error(err)
	}
}
