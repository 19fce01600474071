// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/lockfile"
)

// lockName is the file that is held by whoever makes or removes a socket, for that
// moment: between the look whether somebody serves there and the removal of what
// nobody serves, no other host may have taken its place.
const lockName = "control.lock"

// lockTime is how long that moment of others is waited for.
const lockTime = 5 * time.Second

// hold waits for the lock of a state directory.
func hold(state string) (*lockfile.Lock, error) {
	for late := time.Now().Add(lockTime); ; time.Sleep(10 * time.Millisecond) {
		l, err := lockfile.Take(filepath.Join(state, lockName))
		if err == nil || !errors.Is(err, lockfile.ErrHeld) || time.Now().After(late) {
			return l, err
		}
	}
}

// sweep removes a socket that was found dead, if it still is. Whoever holds the lock
// sees to that socket himself.
func sweep(path string) {
	l, err := lockfile.Take(filepath.Join(filepath.Dir(path), lockName))
	if err != nil {
		return
	}
	defer l.Release()
	if !served(path) {
		_ = os.Remove(path)
	}
}
