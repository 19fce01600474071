// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// endless never yields a row, so that only an interrupt ends it.
const endless = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

func TestTheStatementTimeoutStopsTheEngine(t *testing.T) {
	limits := testLimits
	limits.Timeout, limits.Connections = 50*time.Millisecond, 1
	d := open(t, fixture(t), limits, "orders")
	for _, sql := range []string{endless, "SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g, orders h, orders i, orders j, orders k, orders l"} {
		_, err := query(t, d, sql)
		if code(err) != engine.CodeTimeout || !strings.Contains(err.Error(), "50ms") {
			t.Errorf("%s: %v", sql, err)
		}
		// The one connection serves again, so nothing goes on behind.
		if a := mustQuery(t, d, "SELECT count(*) AS n FROM orders"); a.Rows[0]["n"] != 5.0 {
			t.Errorf("afterwards: %v", a.Rows)
		}
	}
}

func TestTheCallersContextStopsTheEngine(t *testing.T) {
	limits := testLimits
	limits.Connections = 1
	d := open(t, fixture(t), limits, "orders")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if _, err := d.Query(ctx, engine.Statement{SQL: endless}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := d.Query(ctx, engine.Statement{SQL: endless}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("too late: %v", err)
	}
	if _, err := d.Query(ctx, engine.Statement{SQL: "SELECT 1"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("already too late: %v", err)
	}
	mustQuery(t, d, "SELECT count(*) FROM orders")
}

func TestAThousandCancelledStatementsLeakNothing(t *testing.T) {
	limits := testLimits
	limits.Connections = 2
	d := open(t, fixture(t), limits, "orders")
	for i := range 1000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%50)*10*time.Microsecond)
		_, _ = d.Query(ctx, engine.Statement{SQL: fmt.Sprintf("SELECT count(*), %d FROM orders a, orders b, orders c, orders d", i%100)})
		cancel()
	}
	for range 3 {
		mustQuery(t, d, "SELECT count(*) FROM orders")
	}
	if opened, busy, _ := d.pool.Counts(); opened > 2 || busy != 0 {
		t.Errorf("%d connections, %d in use", opened, busy)
	}
}

func TestABusyPoolSaysSo(t *testing.T) {
	limits := testLimits
	limits.Connections, limits.ConnectionWait = 1, 20*time.Millisecond
	d := open(t, fixture(t), limits, "orders")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = d.Query(ctx, engine.Statement{SQL: endless})
	}()
	for busy := 0; busy == 0; _, busy, _ = d.pool.Counts() {
		time.Sleep(time.Millisecond) // until the other one has the connection
	}
	_, err := query(t, d, "SELECT 1")
	if code(err) != engine.CodePoolBusy || !strings.Contains(err.Error(), "all 1 are busy") {
		t.Errorf("%v", err)
	}
	cancel()
	<-done
	mustQuery(t, d, "SELECT 1")
}

// A single instruction may take arbitrarily long; nothing but the end of the
// process stops it.
func TestAnEngineThatDoesNotStopIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as the grace")
	}
	limits := testLimits
	limits.Timeout = 10 * time.Millisecond
	stuck := make(chan struct{}, 1)
	d, err := Open(t.Context(), fixture(t), Options{Limits: limits, Stuck: func() { stuck <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.pool.Release(c)
	_ = c.guarded(t.Context(), func() error {
		select {
		case <-stuck:
		case <-time.After(grace + 10*time.Second):
			t.Error("not reported")
		}
		return nil
	})
}

func TestStatementsRunAtTheSameTime(t *testing.T) {
	d := open(t, fixture(t), testLimits, "orders", "customers", "v_paid")
	statements := []struct{ sql, want string }{
		{"SELECT count(*) AS n FROM orders", `[{"n":5}]`},
		{"SELECT name FROM customers WHERE id = 2", `[{"name":"Bob"}]`},
		{"SELECT count(*) AS n FROM v_paid", `[{"n":2}]`},
		{"SELECT * FROM secrets", ""},
		{"SELECT nocol FROM orders", ""},
	}
	var wg sync.WaitGroup
	var failed atomic.Int32
	for worker := range 16 {
		wg.Go(func() {
			for i := range 200 {
				s := statements[(worker+i)%len(statements)]
				raw, err := query(t, d, s.sql)
				if (err == nil) != (s.want != "") || !strings.Contains(raw, s.want) {
					failed.Add(1)
					t.Logf("%s: %s %v", s.sql, raw, err)
				}
			}
		})
	}
	wg.Wait()
	if n := failed.Load(); n > 0 {
		t.Errorf("%d wrong answers", n)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestAChangedSchemaIsJudgedAnew(t *testing.T) {
	path := fixture(t)
	d := open(t, path, testLimits, "orders", "customers", "later", "docs")
	if a := mustQuery(t, d, "SELECT * FROM customers WHERE id = 1"); len(a.Columns) != 4 {
		t.Fatalf("%v", a.Columns)
	}
	mustQuery(t, d, "SELECT * FROM docs")
	if _, err := query(t, d, "SELECT * FROM later"); code(err) != engine.CodeDBError {
		t.Errorf("a listed table that is not there: %v", err)
	}

	write(t, path, "ALTER TABLE customers ADD COLUMN phone TEXT", "CREATE TABLE later(id INT)", "CREATE TABLE new_secret(id INT)")
	if a := mustQuery(t, d, "SELECT * FROM customers WHERE id = 1"); len(a.Columns) != 5 {
		t.Errorf("the new column is missing: %v", a.Columns)
	}
	mustQuery(t, d, "SELECT * FROM later")
	if _, err := query(t, d, "SELECT nocol FROM new_secret"); code(err) != engine.CodeTableNotAllowed {
		t.Errorf("a new table: %v", err)
	}

	// A cached statement must not read what its name has come to stand for.
	mustQuery(t, d, "SELECT count(*) FROM customers")
	write(t, path, "DROP TABLE customers", "CREATE VIEW customers AS SELECT id FROM orders")
	if a := mustQuery(t, d, "SELECT * FROM customers"); len(a.Columns) != 1 || len(a.Rows) != 5 {
		t.Errorf("a listed view in place of the table: %v %d", a.Columns, len(a.Rows))
	}
	write(t, path, "DROP TABLE docs", "CREATE TABLE docs(a, b, c)")
	if a := mustQuery(t, d, "SELECT * FROM docs"); len(a.Columns) != 3 {
		t.Errorf("a table in place of a virtual one: %v", a.Columns)
	}
	write(t, path, "DROP TABLE later")
	if _, err := query(t, d, "SELECT * FROM later"); code(err) != engine.CodeDBError {
		t.Errorf("after it is gone: %v", err)
	}
}

// lookAgain has the idle connection look for its file the next time.
func lookAgain(t *testing.T, d *DB) {
	t.Helper()
	c, err := d.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.looked = c.looked.Add(-lookEvery)
	d.pool.Release(c)
}

func TestAReplacedFileIsReadAnew(t *testing.T) {
	path := fixture(t)
	d := open(t, path, testLimits, "orders")
	mustQuery(t, d, "SELECT count(*) FROM orders")
	other := newFile(t, "CREATE TABLE orders(id INT); INSERT INTO orders VALUES (42)")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	lookAgain(t, d)
	if a := mustQuery(t, d, "SELECT id FROM orders"); len(a.Rows) != 1 || a.Rows[0]["id"] != 42.0 {
		t.Errorf("%v", a.Rows)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	lookAgain(t, d)
	if _, err := query(t, d, "SELECT id FROM orders"); code(err) != engine.CodeUnavailable || strings.Contains(err.Error(), path) {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestALockedDatabaseSaysSo(t *testing.T) {
	limits := testLimits
	limits.Timeout = 50 * time.Millisecond
	path := fixture(t)
	d := open(t, path, limits, "orders")
	w := writer(t, path)
	defer w.Close()
	if err := w.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	_, err := query(t, d, "SELECT count(*) FROM orders")
	if code(err) != engine.CodeDBError || !strings.Contains(err.Error(), "locked") {
		t.Errorf("%v", err)
	}
	if err := w.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	mustQuery(t, d, "SELECT count(*) FROM orders")
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing.db"): "there is no such database file",
		dir:                              "the database is not a file",
		text:                             "the file is not an SQLite database",
	} {
		_, err := Open(t.Context(), path, Options{Limits: testLimits})
		var fault *OpenError
		if !errors.As(err, &fault) || fault.Summary != want || fault.Detail == "" || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("opening has left something: %v %v", entries, err)
	}
}

func TestAPathMayHoldAnything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a b?c=1&mode=rwc#d%20e`)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, "ü.db")
	if err := os.Rename(fixture(t), path); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	for _, p := range []string{path, link} {
		mustQuery(t, open(t, p, testLimits, "orders"), "SELECT count(*) FROM orders")
	}
}
