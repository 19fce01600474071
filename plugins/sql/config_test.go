// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

func TestADSNNamesAFile(t *testing.T) {
	for dsn, want := range map[string]string{
		"sqlite:shop.db":           "shop.db",
		"SQLite:./a/b.db":          "./a/b.db",
		"sqlite:/srv/shop.db":      "/srv/shop.db",
		"sqlite:///srv/shop.db":    "/srv/shop.db",
		"sqlite:a?b#c%20d.db":      "a?b#c%20d.db", // a path, not a URL
		"sqlite3:shop.db":          "shop.db",
		"sqlite:C:\\data\\shop.db": "C:\\data\\shop.db",
	} {
		if got, err := filePath(dsn); err != nil || got != want {
			t.Errorf("%s: %q %v", dsn, got, err)
		}
	}
}

func TestAWrongDSNIsAFaultThatDoesNotQuoteIt(t *testing.T) {
	for dsn, want := range map[string]string{
		"":                           "no scheme",
		"shop.db":                    "no scheme",
		"sqlite:":                    "no file",
		"sqlite://":                  "absolute path",
		"sqlite://hunter2/shop.db":   "absolute path",
		"sqlite::memory:":            "in memory",
		"sqlite:a\x00b":              "NUL",
		"mysql://u:hunter2@db/shop":  "not built yet",
		"oracle://u:hunter2@db/shop": "unknown",
		"hunter2:x":                  "unknown",
		"C:\\hunter2\\shop.db":       "unknown",
	} {
		_, err := filePath(dsn)
		var fault *toolwharf.ConfigError
		if !errors.As(err, &fault) || fault.Pointer != "/dsn" || !strings.Contains(fault.Summary, want) || fault.Detail == "" {
			t.Errorf("%q: %v", dsn, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the fault quotes it: %v", dsn, err)
		}
	}
}

func TestCheckNamesTheGrantAndAllFaults(t *testing.T) {
	grants, err := check(t.Context(), config{DSN: "sqlite:missing.db", AllowedTables: []string{"orders", "*"}})
	here, _ := os.Getwd()
	file := filepath.Join(here, "missing.db")
	want := []toolwharf.Grant{toolwharf.Read(file), toolwharf.Read(file + "-wal"), toolwharf.Read(file + "-shm"), toolwharf.Read(file + "-journal")}
	if err != nil || !slices.Equal(grants, want) {
		t.Errorf("%v %v", grants, err)
	}
	_, err = check(t.Context(), config{DSN: "nothing", AllowedTables: []string{"orders", "", "SQLite_master"}})
	for _, pointer := range []string{"/dsn", "/allowed_tables/1", "/allowed_tables/2"} {
		if err == nil || !strings.Contains(err.Error(), pointer) {
			t.Errorf("nothing about %s in %v", pointer, err)
		}
	}
}

func shop(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(`CREATE TABLE orders(id INTEGER PRIMARY KEY, total TEXT); CREATE TABLE secrets(token TEXT);
		INSERT INTO orders VALUES (1, '1.10'), (9007199254740993, '2.20'); CREATE VIEW totals AS SELECT total FROM orders`); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func defaults(dsn string, tables ...string) config {
	return config{
		DSN: toolwharf.Secret(dsn), AllowedTables: tables, MaxRows: 100, MaxBytes: 1032192, MaxCellBytes: 16384,
		StatementTimeout: 10 * time.Second, PoolMax: 4, PoolWait: 2 * time.Second,
	}
}

func TestAMissingFileIsAFaultOfTheDSN(t *testing.T) {
	dir := t.TempDir()
	_, err := openDatabase(t.Context(), defaults("sqlite:"+filepath.Join(dir, "missing.db"), "orders"))
	var fault *toolwharf.ConfigError
	if !errors.As(err, &fault) || fault.Pointer != "/dsn" || fault.Detail == "" || strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("it was created: %v", entries)
	}
}

func TestTheTools(t *testing.T) {
	d, err := openDatabase(t.Context(), defaults("sqlite:"+shop(t), "orders", "totals"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	tables, err := d.listTables(t.Context(), tablesIn{})
	if got, _ := json.Marshal(tables); err != nil || string(got) != `{"tables":[{"name":"orders","kind":"table"},{"name":"totals","kind":"view"}]}` {
		t.Errorf("%s %v", got, err)
	}

	var in queryIn
	if err := json.Unmarshal([]byte(`{"sql": "SELECT id, total FROM orders WHERE id = ?", "params": [9007199254740993], "max_rows": 1}`), &in); err != nil {
		t.Fatal(err)
	}
	got, err := d.query(t.Context(), in)
	const want = `{"columns":["id","total"],"rows":[{"id":"9007199254740993","total":"2.20"}],"row_count":1,"truncated":false,"columns_meta":[{"name":"id","encoding":"string"},{"name":"total"}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}

	for name, in := range map[string]queryIn{
		"table_not_allowed": {SQL: "SELECT * FROM secrets"},
		"not_select":        {SQL: "DELETE FROM orders"},
		"bind_value":        {SQL: "SELECT ?", Params: []json.RawMessage{json.RawMessage("{}")}},
	} {
		_, err := d.query(t.Context(), in)
		var told *toolwharf.Error
		if !errors.As(err, &told) || told.Code != name || told.Text == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.listTables(ctx, tablesIn{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
