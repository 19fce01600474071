// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A database in WAL mode can only be read together with its log and the index
// of it, and where they are not there a reader makes them. In a sandbox that
// lets this process read the file and nothing else, it cannot. But a database
// without a log is complete in its one file, so it may be read as if nobody
// ever wrote to it, as long as nobody does: whether there is a log, or the file
// has changed, is looked at before and after each statement, and what was read
// in between is thrown away if so.

var errLog = errors.New("the database is in WAL mode and its log cannot be read")

// openUnwritten opens a connection that takes the file as never changing.
func (d *DB) openUnwritten(ctx context.Context) (*conn, bool) {
	if !d.inWALMode() || d.hasLog() {
		return nil, false
	}
	c, err := d.open(ctx, true)
	if err != nil {
		return nil, false
	}
	if !d.untouched(c) {
		c.Close()
		return nil, false
	}
	return c, true
}

// untouched says whether what c has read is still true.
func (d *DB) untouched(c *conn) bool {
	if !c.unwritten {
		return true
	}
	info, err := os.Stat(d.path)
	same := err == nil && os.SameFile(info, c.file) && info.Size() == c.file.Size() && info.ModTime().Equal(c.file.ModTime())
	if !same || d.hasLog() {
		c.spent = true
		return false
	}
	return true
}

// hasLog says whether there is a log with anything in it.
func (d *DB) hasLog() bool {
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return true
	}
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// mayNotReadLog says whether the log, or its index, is there and this process has no
// right to read it.
func (d *DB) mayNotReadLog() bool {
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return false
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		f, err := os.Open(path + suffix)
		if err == nil {
			err = f.Close()
		}
		if errors.Is(err, fs.ErrPermission) {
			return true
		}
	}
	return false
}

// inWALMode looks at the file's header (sqlite.org/fileformat2.html, 1.3.3).
func (d *DB) inWALMode() bool {
	f, err := os.Open(d.path)
	if err != nil {
		return false
	}
	defer f.Close()
	const at, wal = 18, 2
	var versions [2]byte
	_, err = f.ReadAt(versions[:], at)
	return err == nil && versions == [2]byte{wal, wal}
}
