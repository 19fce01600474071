// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

var testLimits = engine.Limits{
	MaxRows: 500, MaxBytes: 1 << 20, MaxCellBytes: 16 << 10,
	Timeout: 20 * time.Second, Connections: 4, ConnectionWait: 10 * time.Second,
}

// canary is what the unlisted tables of the fixture hold.
const canary = "CANARY"

// server is the PostgreSQL that the tests of this package share.
var server struct {
	once    sync.Once
	address string
	failure error
	stop    func()
	missing bool
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.stop != nil {
		server.stop()
	}
	os.Exit(code)
}

// somebody is a user who is nobody in particular: PostgreSQL refuses to run as
// root.
const somebody = 65534

func startServer() {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if server.missing = len(found) == 0; server.missing {
		return
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		server.failure = err
		return
	}
	as := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, program), args...)
		cmd.Dir, cmd.SysProcAttr = dir, unprivileged(dir)
		cmd.Env = []string{"HOME=" + dir, "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := as("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions").CombinedOutput(); err != nil {
		server.failure = fmt.Errorf("initdb: %w\n%s", err, out)
		return
	}
	port, err := freePort()
	if err != nil {
		server.failure = err
		return
	}
	process := as("postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", dir, "-F", "-c", "max_connections=40", "-c", "max_wal_size=64MB")
	if err := process.Start(); err != nil {
		server.failure = err
		return
	}
	server.address = "127.0.0.1:" + port
	server.stop = func() {
		_ = process.Process.Signal(os.Interrupt)
		_ = process.Wait()
		_ = os.RemoveAll(dir)
	}
	server.failure = untilReady()
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

func untilReady() error {
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var c *pgconn.PgConn
		if c, err = pgconn.Connect(context.Background(), dsn("postgres", "postgres")); err == nil {
			return c.Close(context.Background())
		}
	}
	return err
}

func dsn(user, database string) string {
	return "postgres://" + user + ":s3cret@" + server.address + "/" + database + "?sslmode=disable"
}

// running skips the test where there is no PostgreSQL.
func running(t testing.TB) {
	t.Helper()
	server.once.Do(startServer)
	switch {
	case server.missing && os.Getenv("CI") != "":
		t.Fatal("PostgreSQL is not installed; .ci/run does that")
	case server.missing:
		t.Skip("SKIPPED: PostgreSQL is not installed (Debian: postgresql)")
	case server.failure != nil:
		t.Fatal(server.failure)
	}
}

// admin runs statements as the superuser, and gives the first column of the last
// one's rows.
func admin(t testing.TB, database, sql string) []string {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), dsn("postgres", database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	results, err := c.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var list []string
	for _, row := range results[len(results)-1].Rows {
		list = append(list, string(row[0]))
	}
	return list
}

// database makes a database of its own for a test, with the fixture and the role
// reader, who may read all of it, unlisted tables too.
func database(t testing.TB, schema string) string {
	t.Helper()
	running(t)
	name := "t_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	admin(t, "postgres", `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reader') THEN CREATE ROLE reader LOGIN; END IF; END $$`)
	admin(t, "postgres", "CREATE DATABASE "+name)
	if schema == "" {
		fixture, err := os.ReadFile("testdata/fixture.sql")
		if err != nil {
			t.Fatal(err)
		}
		schema = string(fixture)
	}
	admin(t, name, schema)
	admin(t, name, `DO $$ DECLARE s text; BEGIN FOR s IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' LOOP
		EXECUTE format('GRANT USAGE ON SCHEMA %I TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA %I TO reader', s, s); END LOOP; END $$`)
	return name
}

// permissive lets everything pass, for tests of what is beneath the guard.
type permissive struct{}

func (permissive) Judge(_ context.Context, sql string) (*engine.Verdict, error) {
	n := 0
	for strings.Contains(sql, "$"+strconv.Itoa(n+1)) {
		n++
	}
	return &engine.Verdict{SQL: sql, Params: n}, nil
}

func unguarded(*DB) guards { return func(known) (judge, error) { return permissive{}, nil } }

// open opens a database without a guard.
func open(t testing.TB, database string, o Options) *DB {
	t.Helper()
	if o.Limits == (engine.Limits{}) {
		o.Limits = testLimits
	}
	d, err := openWith(t.Context(), dsn("reader", database), o, unguarded)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func query(t testing.TB, d *DB, sql string, params ...engine.Param) (string, error) {
	t.Helper()
	raw, err := d.Query(t.Context(), engine.Statement{SQL: sql, Params: params})
	return string(raw), err
}

func code(err error) string {
	if e, ok := errors.AsType[*toolwharf.Error](err); ok {
		return e.Code
	}
	if err != nil {
		return "unexpected: " + err.Error()
	}
	return ""
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited that %s", what)
		}
	}
}
