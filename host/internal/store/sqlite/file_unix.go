// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// guard gives the log and its index the mode and, where root opens the file of
// another user, the owner of the database. SQLite's own Unix layer does that;
// this one makes them with the permissions of the umask.
func guard(path string) error {
	db, err := os.Stat(path)
	if err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := align(path+suffix, db); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("permissions of %s: %w", path+suffix, err)
		}
	}
	return nil
}

func align(path string, like os.FileInfo) error {
	is, err := os.Stat(path)
	if err != nil {
		return err
	}
	isSys, ok1 := is.Sys().(*syscall.Stat_t)
	likeSys, ok2 := like.Sys().(*syscall.Stat_t)
	if ok1 && ok2 && os.Geteuid() == 0 && (isSys.Uid != likeSys.Uid || isSys.Gid != likeSys.Gid) {
		if err := os.Chown(path, int(likeSys.Uid), int(likeSys.Gid)); err != nil {
			return err
		}
	}
	if is.Mode().Perm() != like.Mode().Perm() {
		err := os.Chmod(path, like.Mode().Perm())
		if errors.Is(err, fs.ErrPermission) {
			return nil // another user's, who has seen to it
		}
		return err
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
