//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// trusted reports, as an error, that somebody else than the host's user or
// root could change what path is: the file itself or any directory above it.
// A directory with the sticky bit (/tmp) is safe where its child is owned by
// the host's user or root.
func trusted(path string) error {
	for child := ""; ; child, path = path, filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("cannot be judged: %w", err)
		}
		sticky := info.IsDir() && info.Mode()&fs.ModeSticky != 0 && child != ""
		if err := secure(path, info); err != nil && (!sticky || !errors.Is(err, errWritable)) {
			return err
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// errWritable is the cause of a file or directory that others can write.
var errWritable = errors.New("can be written by others")

// secure reports, as an error, that somebody else than the host's user or root
// owns a file or may write it. Who may write a link is not said by its mode.
func secure(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("the owner of %s cannot be told", path)
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, neither the host's user nor root", path, st.Uid)
	}
	writable := info.Mode().Perm() & 0o022
	if writable == 0o020 && privateGroup(st.Gid) {
		writable = 0
	}
	if writable != 0 && info.Mode().Type() != fs.ModeSymlink {
		return fmt.Errorf("%s %w (mode %04o); chmod go-w %s", path, errWritable, info.Mode().Perm(), path)
	}
	return nil
}

func runnable(_ string, info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// identity tells a file from another of the same path.
func identity(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(st.Ino), 10) //nolint:unconvert // narrower on some systems
	}
	return ""
}
