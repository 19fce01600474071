// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package workshop

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long nothing must have changed: an editor writes several files.
const quiet = 150 * time.Millisecond

// maxDirs bounds how many directories are watched.
const maxDirs = 1000

// Watch calls changed at once and after each change of the sources, until ctx ends.
func (b *Bench) Watch(ctx context.Context, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	if err := b.add(w, b.source); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-w.Errors:
			return err
		case e := <-w.Events:
			if e.Op == fsnotify.Chmod || ignored(e.Name) {
				continue
			}
			_ = b.add(w, e.Name) // a directory that is new
			timer.Reset(quiet)
		case <-timer.C:
			changed()
		}
	}
}

// add watches a directory with those in it.
func (b *Bench) add(w *fsnotify.Watcher, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case path != b.source && ignored(path), len(w.WatchList()) >= maxDirs:
			return filepath.SkipDir
		}
		return w.Add(path)
	})
}

// ignored are names that hold no sources.
func ignored(path string) bool {
	name := filepath.Base(path)
	switch name {
	case "bin", "dist", "node_modules", "target", "__pycache__":
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".swp")
}
