//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"io/fs"
	"os"
	"syscall"
)

// modes: files have modes that mean something.
const modes = true

// owner is who owns a file, and whether that is this process's user.
func owner(info fs.FileInfo) (uid uint32, own bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, true
	}
	return st.Uid, int(st.Uid) == os.Geteuid()
}

func filesLimit() (n uint64, known bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return uint64(r.Cur), true //nolint:unconvert // signed on some systems
}
