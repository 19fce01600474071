// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"crypto/sha256"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/watch"
)

// A file is taken once it has not changed for a while: editors write in several
// steps. One that is gone or empty may be about to be written, and as a
// configuration it would stop everything.
const (
	settled      = 300 * time.Millisecond
	settledEmpty = 3 * time.Second
)

// Changes yields a file each time that its content has changed and come to rest,
// until ctx ends, as Open does: nil with its fault when it cannot be read. sum is
// that of the content that is known already.
func Changes(ctx context.Context, path string, sum [sha256.Size]byte, log hclog.Logger) iter.Seq2[*File, fault.List] {
	return func(yield func(*File, fault.List) bool) {
		n := watch.New(filepath.Base(path), log)
		defer n.Stop()
		n.Watch([]string{filepath.Dir(path)})
		w := &watcher{path: path, known: sum}
		for {
			f, faults, changed, pause := w.look(time.Now())
			if changed && !yield(f, faults) {
				return
			}
			timer := time.NewTimer(pause)
			select {
			case <-n.Events:
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			timer.Stop()
		}
	}
}

// watcher looks at one file, and remembers what it saw.
type watcher struct {
	path  string
	known [sha256.Size]byte // of the content that was yielded last
	info  os.FileInfo       // of the file as it was looked at last; nil: there was none
	since time.Time         // when it was first so; zero: it was not looked at
	read  bool              // it was read as it is, at rest
}

// look looks once, and says when to look again.
func (w *watcher) look(now time.Time) (f *File, faults fault.List, changed bool, pause time.Duration) {
	info, _ := os.Stat(w.path)
	if w.since.IsZero() || !same(info, w.info) {
		w.info, w.since, w.read = info, now, false
	}
	if w.read {
		return nil, nil, false, watch.Rescan
	}
	rest := settled
	if info == nil || info.Size() == 0 {
		rest = settledEmpty
	}
	if age := now.Sub(w.since); age < rest {
		return nil, nil, false, rest - age
	}
	f, faults = Open(w.path)
	if info, _ := os.Stat(w.path); !same(info, w.info) {
		return nil, nil, false, settled // it was written while it was read
	}
	w.read = true
	sum := f.Sum()
	changed = sum != w.known
	w.known = sum
	return f, faults, changed, watch.Rescan
}

// same reports whether a file is as it was.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
