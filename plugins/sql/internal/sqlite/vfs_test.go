// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// Were the guard not there at all, nothing could be written all the same.
func TestNothingIsWrittenEvenWithoutTheGuard(t *testing.T) {
	path := fixture(t)
	d := open(t, path, testLimits, "orders")
	c, err := d.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.pool.Release(c)
	other := filepath.Join(t.TempDir(), "other.db")
	for _, sql := range []string{
		"DELETE FROM orders",
		"PRAGMA query_only = OFF; INSERT INTO orders(id) VALUES (99)",
		"PRAGMA query_only = OFF; CREATE TABLE x(a)",
		"PRAGMA query_only = OFF; PRAGMA writable_schema = ON; DELETE FROM sqlite_schema",
		"ATTACH '" + other + "' AS other",
		"VACUUM INTO '" + other + "'",
		"PRAGMA journal_mode = WAL; INSERT INTO orders(id) VALUES (99)",
	} {
		if err := c.sqlite.Exec(sql); err == nil {
			t.Errorf("%s: done", sql)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(other)); err != nil || len(entries) != 0 {
		t.Errorf("files have come into being: %v %v", entries, err)
	}
}

func TestTheFileSystemRefusesWritesWhateverIsAskedFor(t *testing.T) {
	path := fixture(t)
	open(t, path, testLimits) // registers it
	c, err := sqlite3.OpenFlags(fileURI(path, false), sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE|sqlite3.OPEN_URI)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, sql := range []string{
		"DELETE FROM orders", "PRAGMA journal_mode = WAL; DELETE FROM orders",
		"PRAGMA temp_store = FILE; PRAGMA cache_size = 1; PRAGMA cache_spill = 1; CREATE TEMP TABLE big AS SELECT hex(zeroblob(1000000)) FROM generate_series(1, 50)",
	} {
		if err := c.Exec(sql); err == nil {
			t.Errorf("%s: done", sql)
		}
	}
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	if c, err := sqlite3.OpenFlags(fileURI(fresh, false), sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE|sqlite3.OPEN_URI); err == nil {
		_ = c.Close()
		t.Error("a file was created")
	}
	if err := (readOnly{}).Delete(path, false); err == nil {
		t.Error("a file was deleted")
	}
}
