// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Bounds of one connection. What a caller can make of them is bounded by
// engine.Limits; these keep SQLite itself from growing on the way there.
const (
	// heapLimit is for all memory of one connection. Sorting, which has no other
	// place, is within it.
	heapLimit = 160 << 20
	// valueLimit is for one value, stored or computed: large enough that the
	// head of a large value can be given.
	valueLimit = 64 << 20
	// wideValue is a value after which a connection is not kept: its memory never
	// shrinks.
	wideValue = 4 << 20
)

var limits = map[sqlite3.LimitCategory]int{
	sqlite3.LIMIT_LENGTH:              valueLimit,
	sqlite3.LIMIT_SQL_LENGTH:          1 << 20, // the schema as well
	sqlite3.LIMIT_COLUMN:              2000,
	sqlite3.LIMIT_EXPR_DEPTH:          400,
	sqlite3.LIMIT_COMPOUND_SELECT:     100,
	sqlite3.LIMIT_VDBE_OP:             500_000,
	sqlite3.LIMIT_FUNCTION_ARG:        100,
	sqlite3.LIMIT_ATTACHED:            0,
	sqlite3.LIMIT_LIKE_PATTERN_LENGTH: 1000,
	sqlite3.LIMIT_VARIABLE_NUMBER:     1000,
	sqlite3.LIMIT_TRIGGER_DEPTH:       1,
	sqlite3.LIMIT_WORKER_THREADS:      0,
}

var settings = map[sqlite3.DBConfig]bool{
	sqlite3.DBCONFIG_DEFENSIVE:             true,
	sqlite3.DBCONFIG_TRUSTED_SCHEMA:        false, // views and indexes call harmless functions only
	sqlite3.DBCONFIG_WRITABLE_SCHEMA:       false,
	sqlite3.DBCONFIG_DQS_DML:               false, // "x" is a name, never a text by mistake
	sqlite3.DBCONFIG_DQS_DDL:               false,
	sqlite3.DBCONFIG_ENABLE_TRIGGER:        false,
	sqlite3.DBCONFIG_ENABLE_LOAD_EXTENSION: false,
	// A bound value never makes SQLite compile a statement again: what was
	// judged is what runs.
	sqlite3.DBCONFIG_ENABLE_QPSG: true,
}

const pragmas = `
	PRAGMA query_only = ON;
	PRAGMA temp_store = MEMORY;
	PRAGMA cell_size_check = ON;
`

// conn is one connection with what it has prepared. It serves one call at a
// time.
type conn struct {
	db         *DB
	sqlite     *sqlite3.Conn
	guard      guard
	fullText   bool // the FTS5 module is registered
	version    *sqlite3.Stmt
	statements *statements
	watchdog   *time.Timer

	file   os.FileInfo // what was opened
	looked time.Time   // when it was last seen at the path

	unwritten bool // see unwritten.go
	spent     bool // not to be used again
}

// open opens a connection and reads the schema.
func (d *DB) open(ctx context.Context, unwritten bool) (c *conn, err error) {
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return nil, err
	}
	vfs.Register(vfsName, readOnly{})
	c = &conn{db: d, guard: guard{added: d.functions}, statements: newStatements(), unwritten: unwritten, looked: time.Now()}
	if c.file, err = os.Stat(path); err != nil {
		return nil, err
	}
	c.sqlite, err = sqlite3.OpenFlags(fileURI(path, unwritten), sqlite3.OPEN_READONLY|sqlite3.OPEN_NOFOLLOW|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	c.watchdog = time.AfterFunc(time.Hour, d.stuck)
	c.watchdog.Stop()
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if err := c.secure(); err != nil {
		return nil, err
	}
	c.sqlite.SetInterrupt(ctx)
	defer c.sqlite.SetInterrupt(context.Background())
	if c.version, _, err = c.sqlite.Prepare("PRAGMA schema_version"); err != nil {
		return nil, err
	}
	return c, c.inTransaction(c.refreshCatalog)
}

// secure puts the connection's defences up, before it has read anything.
func (c *conn) secure() error {
	c.sqlite.HardHeapLimit(heapLimit)
	for limit, value := range limits {
		c.sqlite.Limit(limit, value)
	}
	for setting, on := range settings {
		got, err := c.sqlite.Config(setting, on)
		if err != nil {
			return err
		}
		if got != on {
			return errors.New("SQLite did not take a security setting")
		}
	}
	if err := c.sqlite.BusyTimeout(c.db.limits.Timeout); err != nil {
		return err
	}
	if err := c.sqlite.Exec(pragmas); err != nil {
		return err
	}
	return c.sqlite.SetAuthorizer(c.guard.authorize)
}

// inTransaction runs do against one snapshot of the file.
func (c *conn) inTransaction(do func() error) error {
	if err := c.sqlite.Exec("BEGIN"); err != nil {
		return err
	}
	err := do()
	// Ending it must not depend on the caller's patience.
	ctx := c.sqlite.SetInterrupt(context.Background())
	if end := c.sqlite.Exec("COMMIT"); end != nil {
		c.spent = true
	}
	c.sqlite.SetInterrupt(ctx)
	return err
}

// refreshCatalog reads the schema if it is not the one that is known.
func (c *conn) refreshCatalog() error {
	c.version.Step()
	version, err := c.version.ColumnInt64(0), c.version.Err()
	if end := c.version.Reset(); err == nil {
		err = end
	}
	if err != nil {
		return err
	}
	if c.guard.catalog != nil && c.guard.catalog.version == version {
		return nil
	}
	catalog, err := c.loadCatalog(version)
	if err != nil {
		return err
	}
	c.guard.catalog = catalog
	c.statements.clear()
	return nil
}

// Spent says that the connection is not to be used again.
func (c *conn) Spent() bool { return c.spent }

func (c *conn) Close() {
	// After running out of memory even closing may fail, by a panic; what is
	// left then is garbage.
	defer func() { _ = recover() }()
	c.watchdog.Stop()
	for _, s := range slices.Collect(c.sqlite.Stmts()) {
		_ = s.Close()
	}
	_ = c.sqlite.Close()
}

// fileURI names a file and how it is opened.
func fileURI(path string, unwritten bool) string {
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	uri := "file:" + escaped + "?vfs=" + vfsName
	if unwritten {
		uri += "&immutable=1"
	}
	return uri
}
