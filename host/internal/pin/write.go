// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts a lock in the place of path at once: whoever reads at the same
// moment sees the old one or the new one.
func Write(path string, l *Lock, mode fs.FileMode) (err error) {
	text := l.Text()
	if len(text) > maxFile {
		return fmt.Errorf("%s would be larger than %d MiB", path, maxFile>>20)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
