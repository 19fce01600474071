//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

func try(f *os.File) error { return flock(f, unix.LOCK_EX) }

// flock takes a lock of a kind, or reports ErrHeld.
func flock(f *os.File, kind int) error {
	for {
		switch err := unix.Flock(int(f.Fd()), kind|unix.LOCK_NB); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		default:
			return err
		}
	}
}
