// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/toolwharf/toolwharf/host/internal/store"
)

// setup is said to every connection. Checkpoints are the writer's own affair,
// after it has answered; the limit cuts a log that a burst has left behind.
const setup = `
	PRAGMA foreign_keys = ON;
	PRAGMA trusted_schema = OFF;
	PRAGMA wal_autocheckpoint = 0;
	PRAGMA journal_size_limit = 16777216;`

// openWriter opens the file at path, which it creates if there is none, and
// returns its store id.
func openWriter(ctx context.Context, path string, busy time.Duration) (*sqlite3.Conn, string, error) {
	if err := create(path); err != nil {
		return nil, "", err
	}
	return connect(ctx, path, busy, func(ctx context.Context, conn *sqlite3.Conn) (string, error) {
		version, err := identify(conn)
		if err != nil {
			return "", err
		}
		if err := useLog(ctx, conn, busy); err != nil {
			return "", err
		}
		if version < len(migrations) {
			if err := migrate(conn); err != nil {
				return "", err
			}
		}
		id, err := readID(conn)
		if err != nil {
			return "", err
		}
		return id, guard(path)
	})
}

// openReader opens the file at path, which must be a store, for reading.
func openReader(ctx context.Context, path string, busy time.Duration) (*sqlite3.Conn, string, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, "", err // SQLite says less
	}
	return connect(ctx, path, busy, func(_ context.Context, conn *sqlite3.Conn) (string, error) {
		version, err := identify(conn)
		switch {
		case err != nil:
			return "", err
		case version == 0:
			return "", fmt.Errorf("%w: it is empty", store.ErrForeign)
		case version < len(migrations):
			return "", fmt.Errorf("schema %d is older than %d: start a host on it once", version, len(migrations))
		}
		id, err := readID(conn)
		if err != nil {
			return "", err
		}
		if err := guard(path); err != nil {
			return "", err
		}
		// Not opened read-only: the last connection to go has to remove the log
		// and its index, which could have been left to the wrong user.
		return id, conn.Exec("PRAGMA query_only = ON")
	})
}

// connect opens a connection and lets begin do its first work within ctx.
func connect(
	ctx context.Context, path string, busy time.Duration,
	begin func(context.Context, *sqlite3.Conn) (string, error),
) (_ *sqlite3.Conn, id string, err error) {
	if !vfs.SupportsSharedMemory || !vfs.SupportsFileLocking {
		return nil, "", errors.New("SQLite cannot share a file between processes on this system")
	}
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			_ = conn.Close() // what went wrong before matters
		}
	}()
	forever := conn.SetInterrupt(ctx)
	if err := conn.BusyTimeout(busy); err != nil {
		return nil, "", err
	}
	if err := conn.Exec(setup); err != nil {
		return nil, "", foreign(ended(ctx, err))
	}
	if id, err = begin(ctx, conn); err != nil {
		return nil, "", ended(ctx, err)
	}
	conn.SetInterrupt(forever)
	return conn, id, nil
}

// ended returns the error of ctx where err is how SQLite says that it has ended:
// interrupted, or busy because it no longer waits.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.BUSY)) {
		return ctx.Err()
	}
	return err
}

// create makes an empty file that only its user can read, unless there is one.
// SQLite would make one with the permissions of the umask.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path)) // else the first durable row could go with the name
}

// foreign says what SQLite means when the file is no database at all.
func foreign(err error) error {
	if errors.Is(err, sqlite3.NOTADB) {
		return fmt.Errorf("%w: %w", store.ErrForeign, err)
	}
	return err
}

// useLog sets WAL mode. It needs the file for itself for a moment, and SQLite
// does not wait for that where waiting could be a deadlock, as when several
// processes create the same file.
func useLog(ctx context.Context, conn *sqlite3.Conn, busy time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, busy)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		mode, err := readText(conn, "PRAGMA journal_mode = WAL")
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("journal mode is %q, needs wal", mode)
		case !errors.Is(err, sqlite3.BUSY):
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("setting the journal mode: %w", err)
		}
	}
}
