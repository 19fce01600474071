// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// DB is one SQLite file.
type DB struct {
	path      string
	tables    []string
	functions map[string]bool
	limits    engine.Limits
	stuck     func()
	shutOut   func()
	pool      *engine.Pool[*conn]
}

var _ engine.Engine = (*DB)(nil)

// Options say what may be read, and how much of it.
type Options struct {
	// Tables are the names of the tables and views that may be read; "*" stands
	// for all but SQLite's own. Names that do not exist are ignored: they may
	// come to exist.
	Tables []string
	// Functions may be called besides those that are known to be harmless.
	Functions []string
	Limits    engine.Limits
	// Stuck is called when SQLite goes on long after a statement's time is over.
	// Nothing but the end of the process stops it then. Nil: nothing is done.
	Stuck func()
	// ShutOut is called when the database has a log that was not there at first and
	// that this process may not read. A sandbox names files, and cannot name one
	// that has yet to come: only a new process may get it.
	ShutOut func()
}

// OpenError says why a file cannot be read at all.
type OpenError struct {
	// Summary is what is wrong, and Detail what to do about it. Neither has the
	// file's path.
	Summary, Detail string
	err             error
}

func (e *OpenError) Error() string { return e.Summary + ": " + e.Detail }

// Unwrap is the error that lies beneath.
func (e *OpenError) Unwrap() error { return e.err }

// Open opens the file at path, which must exist. Errors are *OpenError or the
// context's.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if o.Stuck == nil {
		o.Stuck = func() {}
	}
	if o.ShutOut == nil {
		o.ShutOut = func() {}
	}
	d := &DB{path: path, tables: o.Tables, functions: map[string]bool{}, limits: o.Limits, stuck: o.Stuck, pool: engine.NewPool[*conn](o.Limits.Connections)}
	for _, name := range o.Functions {
		d.functions[fold(name)] = true
	}
	if err := regular(path); err != nil {
		return nil, err
	}
	c, err := d.acquire(ctx)
	if err != nil {
		return nil, openError(ctx, err)
	}
	d.pool.Release(c)
	d.shutOut = o.ShutOut // at the start it would be so again
	return d, nil
}

func regular(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &OpenError{"there is no such database file", "create the database first or correct the path; it is never created here", err}
	case err != nil:
		return &OpenError{"the database file cannot be seen", "let the host's user read it, and every directory above it", withoutPath(err)}
	case !info.Mode().IsRegular():
		return &OpenError{"the database is not a file", "name the file itself", nil}
	}
	return nil
}

func openError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errLog):
		return &OpenError{errLog.Error(), "close the program that writes to it, or let the host read the files with -wal and -shm after the database's name (sandbox.allow)", err}
	case errors.Is(err, sqlite3.NOTADB):
		return &OpenError{"the file is not an SQLite database", "name an SQLite database", err}
	case errors.Is(err, sqlite3.READONLY):
		return &OpenError{"a program that wrote to the database has left it unfinished", "open it once with a program that may write to it", err}
	}
	err = withoutPath(err)
	return &OpenError{"the database cannot be opened", message(err), err}
}

// Query judges and runs one statement.
func (d *DB) Query(caller context.Context, s engine.Statement) (result json.RawMessage, err error) {
	err = d.with(caller, func(c *conn) error {
		result, err = c.judgeAndRun(s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// with does something with a connection, within the time of one statement, and
// again if what it has read is not to be trusted.
func (d *DB) with(caller context.Context, do func(*conn) error) error {
	for range attempts {
		c, err := d.acquire(caller)
		if err != nil {
			return d.explain(caller, caller, err)
		}
		ctx, cancel := context.WithTimeout(caller, d.limits.Timeout)
		err = c.guarded(ctx, func() error { return do(c) })
		c.spent = c.spent || broken(err)
		err = d.explain(ctx, caller, err)
		cancel()
		trusted := d.untouched(c)
		d.pool.Release(c)
		if trusted {
			return err
		}
	}
	return engine.Unavailable(errSchemaUnsteady)
}

// Tables lists what may be read.
func (d *DB) Tables(caller context.Context) (tables []engine.Table, err error) {
	err = d.withCatalog(caller, func(c *conn) error {
		tables = c.guard.catalog.tables()
		return nil
	})
	return tables, err
}

// Close waits for running statements, each of which has its time, and closes
// every connection.
func (d *DB) Close() error {
	d.pool.Close()
	return nil
}

// A log that a writer is making or removing at this moment has to be locked for
// writing, which a file that is open for reading cannot be: the system says EBADF
// (fcntl(2)). It is over in a moment.
const (
	unsteadyTries = 50
	unsteadyPause = 10 * time.Millisecond
)

// connect opens a connection, if need be after a moment.
func (d *DB) connect(ctx context.Context) (c *conn, err error) {
	for range unsteadyTries {
		if c, err = d.connectNow(ctx); !errors.Is(err, syscall.EBADF) {
			break
		}
		select {
		case <-time.After(unsteadyPause):
		case <-ctx.Done():
			return nil, err
		}
	}
	return c, err
}

// connectNow opens a connection in whichever way works.
func (d *DB) connectNow(ctx context.Context) (*conn, error) {
	c, err := d.open(ctx, false)
	if err == nil || !errors.Is(err, sqlite3.CANTOPEN) && !errors.Is(err, sqlite3.READONLY) {
		return c, err
	}
	if c, ok := d.openUnwritten(ctx); ok {
		return c, nil
	}
	if d.hasLog() {
		if d.shutOut != nil && d.mayNotReadLog() {
			d.shutOut()
		}
		return nil, fmt.Errorf("%w: %w", errLog, err)
	}
	return nil, err
}
