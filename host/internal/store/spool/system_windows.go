// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import "golang.org/x/sys/windows"

// free returns how many bytes this user can still write where dir is.
func free(dir string) (n uint64, known bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	if err := windows.GetDiskFreeSpaceEx(name, &n, nil, nil); err != nil {
		return 0, false
	}
	return n, true
}

// syncDir is the file system's own affair here.
func syncDir(string) error { return nil }
