// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow = 0

func try(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}
