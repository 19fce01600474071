// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m, openStore)) }

func openStore(location string, o storetest.Opening) (storetest.Store, error) {
	// The race detector and a busy machine make everything slower: a test that
	// waits is never told that it has waited too long.
	return Open(context.Background(), location, Options{
		Receivers: storetest.Receivers(),
		Busy:      time.Minute, Lease: o.Lease, Signer: o.Signer, Digest: o.Digest, Checkpoint: o.Checkpoint, fault: o.Fault,
	})
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opened {
		t.Helper()
		path := filepath.Join(t.TempDir(), "toolwharf.db")
		return storetest.Opened{
			Location: path,
			Fresh:    filepath.Join(t.TempDir(), "fresh.db"),
			Open:     openStore,
			Block:    func() (func() error, error) { return block(path) },
			Spoil: func(tool string) error {
				return execute(path, fmt.Sprintf(`CREATE TRIGGER spoil BEFORE INSERT ON ledger WHEN NEW.tool = %s
					BEGIN SELECT RAISE(ABORT, 'spoilt'); END`, sqlite3.Quote(tool)))
			},
		}
	})
}

// block takes the write lock, as another process would.
func block(path string) (release func() error, err error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(conn.BusyTimeout(time.Minute), conn.Exec("BEGIN IMMEDIATE")); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error { return errors.Join(conn.Exec("ROLLBACK"), conn.Close()) }, nil
}

// execute runs SQL on the file with a connection of its own.
func execute(path, sql string) error {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(conn.BusyTimeout(time.Minute), conn.Exec(sql), conn.Close())
}
