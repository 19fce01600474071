// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"io/fs"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// vfsName is how connections ask for [readOnly].
const vfsName = "toolwharf-readonly"

// readOnly is the file system as SQLite sees it here: a database, its journal
// and its log, opened for reading. Whatever SQLite may be talked into, it finds
// no way to write, delete or open another kind of file; sorting and temporary
// tables are kept in memory.
//
// The one file that may come into being is the log of a database in WAL mode
// that nobody has open: readers and writers must agree on the same file. Where
// that is not permitted, [unwritten] takes over.
type readOnly struct{}

var _ vfs.VFSFilename = readOnly{}

func system() vfs.VFSFilename {
	os, _ := vfs.Find("os").(vfs.VFSFilename)
	return os
}

// Open is for files without a name: temporary ones.
func (readOnly) Open(string, vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	return nil, 0, sqlite3.CANTOPEN
}

func (readOnly) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	const writing = vfs.OPEN_READWRITE | vfs.OPEN_CREATE
	if name == nil || flags&(vfs.OPEN_MAIN_DB|vfs.OPEN_MAIN_JOURNAL|vfs.OPEN_WAL) == 0 {
		return nil, 0, sqlite3.CANTOPEN
	}
	f, got, err := system().OpenFilename(name, flags&^writing|vfs.OPEN_READONLY)
	if flags&vfs.OPEN_WAL != 0 && errors.Is(err, fs.ErrNotExist) {
		return system().OpenFilename(name, flags)
	}
	return f, got, err
}

func (readOnly) Delete(string, bool) error { return sqlite3.IOERR_DELETE }

func (readOnly) Access(name string, flags vfs.AccessFlag) (bool, error) {
	return system().Access(name, flags)
}

func (readOnly) FullPathname(name string) (string, error) { return system().FullPathname(name) }
