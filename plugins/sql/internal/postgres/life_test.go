// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// backends are the connections of readers to a database.
func backends(t testing.TB, database, where string) int {
	t.Helper()
	return len(admin(t, "postgres", "SELECT pid FROM pg_stat_activity WHERE usename = 'reader' AND datname = '"+database+"' "+where))
}

func TestACanceledStatementIsGoneFromTheServer(t *testing.T) {
	name := database(t, "SELECT 1")
	d := open(t, name, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := d.Query(ctx, engine.Statement{SQL: "SELECT pg_sleep(600)"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the statement: %v", err)
		}
	})
	const active = "AND query LIKE '%pg_sleep%' AND state = 'active'"
	eventually(t, "the statement runs", func() bool { return backends(t, name, active) == 1 })
	cancel()
	wg.Wait()
	eventually(t, "it is gone", func() bool { return backends(t, name, active) == 0 })
	if raw, err := query(t, d, "SELECT 1 AS x"); err != nil {
		t.Errorf("the next call: %s %v", raw, err)
	}
}

func TestAThousandCancelsLeakNothing(t *testing.T) {
	name := database(t, "SELECT 1")
	d := open(t, name, Options{})
	goroutines := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for worker := range testLimits.Connections {
		wg.Go(func() {
			for i := range 1000 / testLimits.Connections {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(i*7+worker)%10)*time.Millisecond)
				_, err := d.Query(ctx, engine.Statement{SQL: "SELECT pg_sleep(60)"})
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a call: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	eventually(t, "nothing sleeps", func() bool { return backends(t, name, "AND state <> 'idle'") == 0 })
	eventually(t, "connections are bounded", func() bool { return backends(t, name, "") <= testLimits.Connections })
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	if _, err := query(t, d, "SELECT 1"); err != nil {
		t.Error(err)
	}
}

func TestAStatementThatTakesTooLongIsStopped(t *testing.T) {
	name := database(t, "SELECT 1")
	limits := testLimits
	limits.Timeout = 100 * time.Millisecond
	d := open(t, name, Options{Limits: limits})
	for range 3 {
		if _, err := query(t, d, "SELECT count(*) FROM generate_series(1, 1000000000000)"); code(err) != engine.CodeTimeout {
			t.Error(err)
		}
	}
	if backends(t, name, "AND state = 'active'") != 0 {
		t.Error("it still runs")
	}
}

func TestCallsWaitTheirTurnAndNoLonger(t *testing.T) {
	name := database(t, "SELECT 1")
	limits := testLimits
	limits.Connections, limits.ConnectionWait = 1, 50*time.Millisecond
	d := open(t, name, Options{Limits: limits})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = d.Query(ctx, engine.Statement{SQL: "SELECT pg_sleep(600)"}) })
	eventually(t, "the statement runs", func() bool { return backends(t, name, "AND state = 'active'") == 1 })
	if _, err := query(t, d, "SELECT 1"); code(err) != engine.CodePoolBusy {
		t.Error(err)
	}
	cancel()
	wg.Wait()
	if _, err := query(t, d, "SELECT 1"); err != nil {
		t.Error(err)
	}
}

func TestALostConnectionIsReplaced(t *testing.T) {
	name := database(t, "SELECT 1")
	d := open(t, name, Options{})
	for range 3 {
		if _, err := query(t, d, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		admin(t, "postgres", "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'reader' AND datname = '"+name+"'")
	}
	if raw, err := query(t, d, "SELECT 1 AS x"); err != nil {
		t.Errorf("%s %v", raw, err)
	}
}

// What a call does to its session is not there for the next one.
func TestNothingOfACallOutlivesIt(t *testing.T) {
	limits := testLimits
	limits.Connections = 1
	d := open(t, database(t, ""), Options{Limits: limits})
	const setting = "SELECT current_setting('search_path') AS p, current_setting('TimeZone') AS z, current_setting('transaction_read_only') AS r, current_setting('statement_timeout') AS t, current_setting('default_transaction_read_only') AS d"
	before, err := query(t, d, setting)
	if err != nil || !strings.Contains(before, `{"p":"pg_catalog, public, pg_temp","z":"UTC","r":"on","t":"20s","d":"on"}`) {
		t.Fatalf("%s %v", before, err)
	}
	for _, sql := range []string{
		"SELECT set_config('search_path', 'evil', false)",
		"SELECT set_config('TimeZone', 'Asia/Tokyo', false), set_config('default_transaction_read_only', 'off', false), set_config('statement_timeout', '0', false)",
		"SELECT pg_advisory_lock(1)",
	} {
		if _, err := query(t, d, sql); err != nil {
			t.Fatal(err)
		}
		if after, err := query(t, d, setting); err != nil || after != before {
			t.Errorf("after %s: %s %v", sql, after, err)
		}
	}
	raw, err := query(t, d, "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'")
	if err != nil || !strings.Contains(raw, `{"n":0}`) {
		t.Errorf("%s %v", raw, err)
	}
}

// Even without a guard a statement is one statement, and one that reads.
func TestTheServerTakesOneStatementThatReads(t *testing.T) {
	name := database(t, "")
	admin(t, name, "GRANT ALL ON ALL TABLES IN SCHEMA public TO reader")
	d := open(t, name, Options{})
	for _, sql := range []string{
		"DELETE FROM orders", "SELECT 1; DELETE FROM orders", "ROLLBACK; BEGIN READ WRITE; DELETE FROM orders; COMMIT",
		"SELECT nextval('s1')", "COPY orders TO STDOUT", "COMMIT", "SELECT 1 INTO made", "COPY orders FROM STDIN",
	} {
		if raw, err := query(t, d, sql); err == nil {
			t.Errorf("%s: %s", sql, raw)
		}
	}
	if n := admin(t, name, "SELECT count(*) FROM orders"); n[0] != "10" {
		t.Errorf("%v orders are left", n)
	}
}

func TestLargeResultsAreBounded(t *testing.T) {
	d := open(t, database(t, "SELECT 1"), Options{})
	raw, err := query(t, d, "SELECT g FROM generate_series(1, 1000000) g")
	if err != nil || !strings.Contains(raw, `"row_count":500,"truncated":true,"truncated_by":"rows"`) {
		t.Errorf("%d bytes %v", len(raw), err)
	}
	raw, err = query(t, d, "SELECT repeat('x', 50000000) AS v")
	if err != nil || len(raw) > 2*testLimits.MaxCellBytes || !strings.Contains(raw, `"bytes":50000000`) {
		t.Errorf("%d bytes %v", len(raw), err)
	}
	raw, err = query(t, d, "SELECT repeat('x', 15000) AS v FROM generate_series(1, 1000000)")
	if err != nil || len(raw) > testLimits.MaxBytes || !strings.Contains(raw, `"truncated_by":"bytes"`) {
		t.Errorf("%d bytes %v", len(raw), err)
	}
	if _, err = query(t, d, "SELECT repeat('x', 100000000) AS v"); code(err) != engine.CodeDBError || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Error(err)
	}
	if raw, err := query(t, d, "SELECT 1 AS x"); err != nil {
		t.Errorf("%s %v", raw, err)
	}
}

// In a sandbox nothing but the dialer leads out, and names mean nothing here.
func TestTheDialerIsTheOnlyWayOut(t *testing.T) {
	name := database(t, "SELECT 1")
	var dials atomic.Int64
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		if addr != "db.example.invalid:5432" {
			t.Errorf("dialed %s", addr)
		}
		return new(net.Dialer).DialContext(ctx, network, server.address)
	}
	d, err := openWith(t.Context(), "postgres://reader:s3cret@db.example.invalid/"+name+"?sslmode=disable", Options{Limits: testLimits, Dial: dial}, unguarded)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before := dials.Load()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := d.Query(ctx, engine.Statement{SQL: "SELECT pg_sleep(60)"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if dials.Load() == before {
		t.Error("the request to cancel took another way")
	}
}
