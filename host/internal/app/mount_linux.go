// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import "golang.org/x/sys/unix"

// readOnly reports whether a file lies on a file system that is mounted so.
func readOnly(file string) bool {
	var s unix.Statfs_t
	return unix.Statfs(file, &s) == nil && s.Flags&unix.ST_RDONLY != 0
}
