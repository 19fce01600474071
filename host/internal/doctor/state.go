// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// StateDirectory looks at it: it must be the host's user's alone.
func StateDirectory(dir string) Check {
	const name = "state"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Passed(name, "%s is not there yet; the first start makes it", dir)
	case err != nil:
		return Failed(name, "let the host's user read it", "%v", err)
	case !info.IsDir():
		return Failed(name, "move it away, or set state: to a directory", "%s is not a directory", dir)
	}
	if uid, own := owner(info); !own {
		return Failed(name, "run the host as the user that owns it, or change its owner", "%s belongs to user %d", dir, uid)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && modes {
		return Failed(name, "chmod 700 "+dir, "%s can be entered by others (mode %04o)", dir, mode)
	}
	return Passed(name, "%s is this user's alone", dir)
}

// Private looks at a file that only the host's user may read or write.
func Private(name, file string) Check {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Passed(name, "%s is not there yet; the first start makes it", file)
	case err != nil:
		return Failed(name, "let the host's user read it", "%v", err)
	}
	if uid, own := owner(info); !own {
		return Failed(name, "run the host as the user that owns it, or change its owner", "%s belongs to user %d", file, uid)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && modes {
		return Failed(name, "make a new one if others may have read it; else chmod 600 "+file, "%s can be read or written by others (mode %04o)", file, mode)
	}
	return Passed(name, "%s is this user's alone", file)
}

// Disk looks how much space is left where dir is or will be. Below least no call
// with effects starts.
func Disk(dir string, free func(dir string) (n uint64, known bool), least uint64) Check {
	const name = "disk"
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	left, known := free(dir)
	switch {
	case !known:
		return Warned(name, "see to it that there is space", "how much space is left in %s cannot be told here", dir)
	case left < least:
		return Failed(name, "make space: calls with effects do not start below that", "%d MiB are left in %s, at least %d MiB are needed", left>>20, dir, least>>20)
	case left < 8*least:
		return Warned(name, "make space", "only %d MiB are left in %s; below %d MiB no call with effects starts", left>>20, dir, least>>20)
	default:
		return Passed(name, "%d MiB are left in %s", left>>20, dir)
	}
}
