//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockDir locks a directory against other hosts, or reports that one of them
// has it.
func lockDir(dir string) (unlock func(), busy bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		_ = d.Close()
		return nil, errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR), err
	}
	return func() { _ = d.Close() }, false, nil
}
