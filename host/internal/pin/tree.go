// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a folder. A larger one is no plugin but somebody's home.
const (
	MaxEntries = 10_000
	MaxBytes   = 512 << 20
)

// Kind is what an entry of a tree is.
type Kind byte

// The kinds. A file that anybody may execute is an executable: the other bits
// of a mode differ from one checkout to the next.
const (
	Dir        Kind = 'd'
	File       Kind = 'f'
	Executable Kind = 'x'
	Link       Kind = 'l'
)

// Entry is one entry of a tree.
type Entry struct {
	// Path is relative to the root, with slashes.
	Path string
	Kind Kind
	Info fs.FileInfo
}

// Walk returns everything below root, sorted by the bytes of its path, hidden
// files too: whatever lies there can be a part of what runs. A tree that is too
// large, or that is more than directories, files and links within it, is an
// error.
func Walk(root *os.Root) ([]Entry, error) {
	var entries []Entry
	left := int64(MaxBytes)
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".":
			return nil
		case len(entries) == MaxEntries:
			return fmt.Errorf("it holds more than %d files", MaxEntries)
		case strings.ContainsFunc(path, unicode.IsControl) || !utf8.ValidString(path):
			return fmt.Errorf("%q is no name that can be written into a list", path)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := Entry{Path: path, Info: info}
		if e.Kind, err = kindOf(root, path, info); err != nil {
			return err
		}
		if e.Kind == File || e.Kind == Executable {
			if left -= info.Size(); left < 0 {
				return fmt.Errorf("it holds more than %d MiB", MaxBytes>>20)
			}
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, plain(err)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries, nil
}

func kindOf(root *os.Root, path string, info fs.FileInfo) (Kind, error) {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return Dir, nil
	case mode.IsRegular() && mode.Perm()&0o111 != 0:
		return Executable, nil
	case mode.IsRegular():
		return File, nil
	case mode.Type() == fs.ModeSymlink:
		// Root follows no link that is absolute or that leaves it, not even
		// one that comes back: in a copy it would lead elsewhere.
		if _, err := root.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("%s is a link that leaves the folder; copy what it leads to", path)
		}
		return Link, nil
	default:
		return 0, fmt.Errorf("%s is neither a file nor a directory nor a link", path)
	}
}

// plain is an error of the file system without the operation.
func plain(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", filepath.ToSlash(path.Path), path.Err)
	}
	return err
}
