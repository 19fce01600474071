// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteNew writes a file that must not be there yet. Only its owner can read
// it: configurations come to hold credentials.
func WriteNew(path string, data []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists and is not overwritten: remove it, or choose another file with -c: %w", path, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, plain(err))
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path) // half a file would be in the way of the next try
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, plain(err))
	}
	return nil
}

// replace puts data in the place of path at once: a client that reads at the
// same moment sees the old file or the new one.
func replace(path string, data []byte, mode fs.FileMode) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
