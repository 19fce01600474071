//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import "golang.org/x/sys/unix"

// mayOpen is how many files this process may have open, if the system tells.
func mayOpen() (n uint64, known bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return l.Cur, err == nil
}
