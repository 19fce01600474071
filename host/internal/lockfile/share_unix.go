//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxKey bounds what a shared lock is for.
const maxKey = 8 << 10

// Share locks the file at path together with all who have the same key, and makes
// it if need be. While one of them holds it, nobody gets it with another key.
func Share(path, key string) (*Lock, error) {
	if len(key) > maxKey {
		return nil, fmt.Errorf("lock %s: its key is longer than %d bytes", path, maxKey)
	}
	f, err := os.OpenFile(path, os.O_RDWR|noFollow|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Lock{f}
	if err := l.share(key); err != nil {
		l.Release()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return l, nil
}

func (l *Lock) share(key string) error {
	switch err := try(l.file); {
	case err == nil: // nobody has it: the key is this one's to say
		if err := l.file.Truncate(0); err != nil {
			return err
		}
		if _, err := l.file.WriteAt([]byte(key), 0); err != nil {
			return err
		}
	case !errors.Is(err, ErrHeld):
		return err
	}
	// One that is exclusive is given up before this one is taken, and somebody else
	// may say another key in between.
	if err := flock(l.file, unix.LOCK_SH); err != nil {
		return err
	}
	said, err := io.ReadAll(io.NewSectionReader(l.file, 0, maxKey+1))
	if err == nil && string(said) != key {
		err = ErrHeld
	}
	return err
}
