// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/lockfile"
	"github.com/toolwharf/toolwharf/host/internal/pin"
)

// runDir is a directory for plugins' sockets, and the lock that says that its
// host lives. It lies in the temporary directory, since a socket's path has at most
// some 100 bytes.
type runDir struct {
	path string
	lock *lockfile.Lock
}

// runName is what such a directory is called: who has made it is in its name.
var runName = regexp.MustCompile(`^toolwharf-([0-9]{1,10})-[0-9]+$`)

// runLock is the file in it that is locked.
const runLock = "lock"

// Bounds of a sweep: names that are looked at, and directories that are removed.
const (
	maxRunNames = 100_000
	maxSwept    = 100
)

// young is how long after its last change a directory may be one whose host has
// yet to lock it.
const young = time.Minute

// makeRunDir makes this host's directory, and sweeps in the background those of
// hosts that were killed.
func makeRunDir() (*runDir, error) {
	path, err := os.MkdirTemp("", fmt.Sprintf("toolwharf-%d-", os.Getpid()))
	if err != nil {
		return nil, err
	}
	// Adapters that are users of their own enter it, and can list nothing.
	err = os.Chmod(path, 0o711) //nolint:gosec // what is in it is private
	var lock *lockfile.Lock
	if err == nil {
		lock, err = lockfile.Take(filepath.Join(path, runLock))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	go sweepRunDirs(os.TempDir())
	return &runDir{path, lock}, nil
}

// remove removes it with all that is in it.
func (d *runDir) remove() error {
	d.lock.Release()
	return pin.Remove(d.path)
}

// sweepRunDirs removes the directories of hosts that are no more.
func sweepRunDirs(tmp string) {
	dir, err := os.Open(tmp)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	swept := 0
	for looked := 0; looked < maxRunNames && swept < maxSwept; {
		names, err := dir.Readdirnames(1000)
		if len(names) == 0 || err != nil {
			return
		}
		looked += len(names)
		for _, name := range names {
			if m := runName.FindStringSubmatch(name); m != nil && swept < maxSwept && sweep(filepath.Join(tmp, name), m[1]) {
				swept++
			}
		}
	}
}

// sweep removes one, if it is this user's and its host is no more.
func sweep(path, maker string) bool {
	pid, err := strconv.Atoi(maker)
	if err != nil || pid == os.Getpid() || !isOwn(path) {
		return false
	}
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	old := time.Since(info.ModTime()) > young
	lock, err := lockfile.Existing(filepath.Join(path, runLock))
	switch {
	case errors.Is(err, os.ErrNotExist): // killed before it could lock it
		if !old || alive(pid) {
			return false
		}
	case err != nil: // above all: it is held
		return false
	default:
		defer lock.Release()
		// An id says nothing of a host in another container, the time nothing of
		// one that was killed just now.
		if !old && alive(pid) {
			return false
		}
	}
	return pin.Remove(path) == nil
}
