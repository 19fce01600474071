// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package lockfile locks files. The system lets go of a lock when the process ends
// that holds it, however it ends: a file that can be locked has no owner any more.
package lockfile

import (
	"errors"
	"fmt"
	"os"
)

// ErrHeld says that somebody else holds the lock: another process, or this one by
// another Lock.
var ErrHeld = errors.New("somebody else holds the lock")

// Lock is a file that is locked.
type Lock struct{ file *os.File }

// Take locks the file at path, and makes it if need be. It waits for nobody, and
// follows no link.
func Take(path string) (*Lock, error) { return open(path, os.O_CREATE) }

// Existing is Take of a file that must be there.
func Existing(path string) (*Lock, error) { return open(path, 0) }

func open(path string, flags int) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|noFollow|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := try(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// Release lets go of it. The file stays: whoever removed it might remove another's.
func (l *Lock) Release() { _ = l.file.Close() }
