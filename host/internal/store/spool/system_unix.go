// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package spool

import (
	"errors"
	"os"
	"syscall"
)

// free returns how many bytes this user can still write where dir is.
func free(dir string) (n uint64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true //nolint:gosec // it is a size
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
