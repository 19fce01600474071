// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// guardKey refuses the file of a key that others may have read or written.
func guardKey(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("its mode is %04o: others may have read it; make a new one, or `chmod 600` it if you are sure",
			mode)
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to uid %d, this process is uid %d: run it as the user of the host",
			sys.Uid, os.Geteuid())
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
