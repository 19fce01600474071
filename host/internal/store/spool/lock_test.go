// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool_test

import (
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// lockFile takes the write lock of a store, as another process would.
func lockFile(path string) (release func() error, err error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(conn.BusyTimeout(time.Minute), conn.Exec("BEGIN IMMEDIATE")); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error { return errors.Join(conn.Exec("ROLLBACK"), conn.Close()) }, nil
}
