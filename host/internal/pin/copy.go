// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Shelf keeps private copies of pinned programs: what runs is what was hashed,
// whatever becomes of the original. Each copy is made once and hashed before
// each use.
type Shelf struct {
	// Dir belongs to this host alone.
	Dir string

	mu sync.Mutex
}

// MismatchError is a program that is not as it was pinned.
type MismatchError struct {
	Plugin   string
	Pin, Now tool.Digest
}

// Error says what to do.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("plugin %s is not as it was pinned: its hash is %s, the lock has %s; if the change is wanted, run `toolwharf plugins pin %s`",
		e.Plugin, e.Now, e.Pin, e.Plugin)
}

// Take returns where a copy of a program lies that has exactly a hash, as the
// program itself still has.
func (s *Shelf) Take(plugin, path string, folder bool, hash tool.Digest) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := Hash(path, folder)
	if err != nil {
		return "", err
	}
	if now != hash {
		return "", &MismatchError{Plugin: plugin, Pin: hash, Now: now}
	}
	shelf := filepath.Join(s.Dir, "pinned", plugin+"-"+hex.EncodeToString(hash[:]))
	at := filepath.Join(shelf, plugin)
	if strings.HasSuffix(path, ".exe") {
		at += ".exe"
	}
	if now, err := Hash(at, folder); err == nil && now == hash {
		return at, nil
	}
	// There is none yet, or somebody has been at it.
	if err := errors.Join(Remove(shelf), s.room(shelf), copyProgram(path, at, folder)); err != nil {
		return "", errors.Join(err, Remove(shelf))
	}
	// What counts is the copy: the program may have changed meanwhile.
	if now, err = Hash(at, folder); err == nil && now != hash {
		err = &MismatchError{Plugin: plugin, Pin: hash, Now: now}
	}
	if err != nil {
		return "", errors.Join(err, Remove(shelf))
	}
	return at, nil
}

// room makes the directory of one copy. Whoever knows the hash of a program may
// enter it, an adapter that has a user of its own among them: no more than who has
// the program knows that.
func (s *Shelf) room(shelf string) error {
	for _, dir := range []string{filepath.Dir(shelf), shelf} {
		if err := os.Mkdir(dir, entered); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func copyProgram(from, to string, folder bool) error {
	if folder {
		return copyTree(from, to)
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return copyFile(f, to, 0o500|forOthers(info))
}

// Modes of directories: one to which nothing is added, and one that is entered and
// not listed.
const (
	sealed  fs.FileMode = 0o500
	entered fs.FileMode = 0o711
)

// forOthers is what others may do with a file: what they may with the original, but
// for writing it.
func forOthers(original fs.FileInfo) fs.FileMode { return original.Mode().Perm() & 0o005 }

func copyTree(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := Walk(root)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries { // a directory comes before what is in it
		if err := copyEntry(root, e, filepath.Join(to, filepath.FromSlash(e.Path))); err != nil {
			return plain(err)
		}
	}
	for _, e := range entries {
		if e.Kind == Dir {
			if err := os.Chmod(filepath.Join(to, filepath.FromSlash(e.Path)), sealed|forOthers(e.Info)); err != nil {
				return err
			}
		}
	}
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	return os.Chmod(to, sealed|forOthers(info))
}

func copyEntry(root *os.Root, e Entry, to string) error {
	switch e.Kind {
	case Dir:
		return os.Mkdir(to, 0o700)
	case Link:
		target, err := root.Readlink(e.Path)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case File, Executable:
	}
	f, err := root.Open(e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	mode := fs.FileMode(0o400)
	if e.Kind == Executable {
		mode = 0o500
	}
	return copyFile(f, to, mode|forOthers(e.Info))
}

// copyFile copies what is to be executed. No process is forked meanwhile: it
// would hold the copy open for writing until it executes something itself, and
// what is open for writing cannot be executed.
func copyFile(from io.Reader, to string, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(from, MaxBytes+1))
	if err == nil && n > MaxBytes {
		err = fmt.Errorf("it is larger than %d MiB", MaxBytes>>20)
	}
	return errors.Join(err, f.Close())
}

// Remove removes a directory and everything in it, what is read-only too.
func Remove(dir string) error {
	if root, err := os.OpenRoot(dir); err == nil {
		defer func() { _ = root.Close() }()
		_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = root.Chmod(path, 0o700) // it is about to be removed
			}
			return nil
		})
	}
	return os.RemoveAll(dir)
}
