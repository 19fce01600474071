// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/store"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// applicationID marks our files (PRAGMA application_id): "twhf".
const applicationID = 0x74776866

// identify returns the schema version of a store, 0 of an empty file.
func identify(conn *sqlite3.Conn) (version int, err error) {
	tx := conn.Begin() // one view of a file that others may be creating
	defer tx.End(&err)
	app, err := readNumber(conn, "PRAGMA application_id")
	if err != nil {
		return 0, foreign(err)
	}
	user, err := readNumber(conn, "PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	objects, err := readNumber(conn, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	switch {
	case app == applicationID && user > int64(len(migrations)):
		return 0, fmt.Errorf("%w: schema %d, this one knows %d", store.ErrNewer, user, len(migrations))
	case app == applicationID && user > 0:
		return int(user), nil
	case app == 0 && user == 0 && objects == 0:
		return 0, nil
	default:
		return 0, fmt.Errorf("%w: application id %#x, version %d, %d tables and indexes",
			store.ErrForeign, app, user, objects)
	}
}

// migrate brings the schema up to date. Another process may have done so since
// identify looked.
func migrate(conn *sqlite3.Conn) (err error) {
	tx, err := conn.BeginImmediate()
	if err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	defer tx.End(&err)
	version, err := readNumber(conn, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if version > int64(len(migrations)) {
		return fmt.Errorf("%w: schema %d, this one knows %d", store.ErrNewer, version, len(migrations))
	}
	for i := int(version); i < len(migrations); i++ {
		if err := conn.Exec(migrations[i]); err != nil {
			return fmt.Errorf("migrating to schema %d: %w", i+1, err)
		}
	}
	if version == 1 {
		if err := linkRows(conn); err != nil {
			return fmt.Errorf("linking the rows of schema 1: %w", err)
		}
	}
	if version == 0 {
		if err := writeID(conn); err != nil {
			return err
		}
	}
	return conn.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
		applicationID, len(migrations)))
}

func writeID(conn *sqlite3.Conn) error {
	stmt, _, err := conn.Prepare("INSERT INTO meta (key, value) VALUES ('id', ?)")
	if err != nil {
		return err
	}
	defer stmt.Close() // repeats the error of Exec
	if err := stmt.BindText(1, tool.NewID("store_")); err != nil {
		return err
	}
	return stmt.Exec()
}

func readID(conn *sqlite3.Conn) (string, error) {
	id, err := readText(conn, "SELECT value FROM meta WHERE key = 'id'")
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", fmt.Errorf("%w: it has no id", store.ErrForeign)
	}
	return id, nil
}

// readNumber returns the one value of a query, 0 if there is none.
func readNumber(conn *sqlite3.Conn, sql string) (n int64, err error) {
	err = readOne(conn, sql, func(s *sqlite3.Stmt) { n = s.ColumnInt64(0) })
	return n, err
}

// readText returns the one value of a query, "" if there is none.
func readText(conn *sqlite3.Conn, sql string) (text string, err error) {
	err = readOne(conn, sql, func(s *sqlite3.Stmt) { text = s.ColumnText(0) })
	return text, err
}

func readOne(conn *sqlite3.Conn, sql string, scan func(*sqlite3.Stmt)) error {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	if stmt.Step() {
		scan(stmt)
	}
	return stmt.Close()
}
