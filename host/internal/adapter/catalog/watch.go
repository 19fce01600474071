// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"iter"
	"reflect"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/hashicorp/go-hclog"
)

// rescan is how often the directories are looked into anyway: a missed event
// must not matter.
const rescan = 3 * time.Second

// firstLooks bounds the wait for files that are being written at the start.
const firstLooks = 8

// Changes yields what lies in the directories, and again after each change,
// until ctx ends.
func Changes(ctx context.Context, dirs []Directory, log hclog.Logger) iter.Seq[*Contents] {
	return func(yield func(*Contents) bool) {
		n := newNotices(log)
		defer n.stop()
		follow(ctx, dirs, n, yield)
	}
}

// follow looks at each event, and now and then without one.
func follow(ctx context.Context, dirs []Directory, n *notices, yield func(*Contents) bool) {
	s := &scanner{dirs: dirs, now: time.Now}
	n.watch(dirs, nil)
	var last *Contents
	for looks := 1; ; looks++ {
		c := s.scan()
		n.watch(dirs, c.folders)
		// The first look is taken for the whole, so it waits a moment for files
		// that were written just now.
		whole := !c.unsettled || looks > firstLooks
		if last == nil && whole || last != nil && !same(last, c) {
			if !yield(c) {
				return
			}
			last = c
		}
		pause := rescan
		if c.unsettled {
			pause = settled
		}
		timer := time.NewTimer(pause)
		select {
		case <-n.events:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// Scan looks once, waiting for files that may still be written.
func Scan(ctx context.Context, dirs []Directory) *Contents {
	s := &scanner{dirs: dirs, now: time.Now}
	for {
		c := s.scan()
		if !c.unsettled {
			return c
		}
		select {
		case <-time.After(settled):
		case <-ctx.Done():
			return c
		}
	}
}

// same reports whether two differ at most in what is not settled yet.
func same(a, b *Contents) bool {
	return reflect.DeepEqual(a.Plugins, b.Plugins) && reflect.DeepEqual(a.Notes, b.Notes)
}

// maxWatched bounds how many directories are watched: each costs the system's
// own bound a little. The rescan sees the others.
const maxWatched = 1000

// notices tell of events in directories, several as one. Where there are none
// to be had, the rescan does.
type notices struct {
	events  chan struct{}
	watcher *fsnotify.Watcher // nil: there are none
	log     hclog.Logger
}

func newNotices(log hclog.Logger) *notices {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("directories are not watched, only looked into now and then", "every", rescan, "error", err)
		return &notices{log: log}
	}
	n := &notices{events: make(chan struct{}, 1), watcher: w, log: log}
	go n.gather()
	return n
}

func (n *notices) gather() {
	for {
		select {
		case _, open := <-n.watcher.Events:
			if !open {
				return
			}
		case _, open := <-n.watcher.Errors:
			if !open {
				return
			}
		}
		select {
		case n.events <- struct{}{}:
		default:
		}
	}
}

// watch says which directories are watched from now on. One that is there
// already is added again: another may have come in its place.
func (n *notices) watch(dirs []Directory, folders []string) {
	if n.watcher == nil {
		return
	}
	wanted := map[string]bool{}
	for _, d := range dirs {
		wanted[d.Path] = true
	}
	for _, path := range folders[:min(len(folders), maxWatched)] {
		wanted[path] = true
	}
	for _, path := range n.watcher.WatchList() {
		if !wanted[path] {
			_ = n.watcher.Remove(path)
		}
	}
	for path := range wanted {
		if err := n.watcher.Add(path); err != nil {
			n.log.Trace("directory is not watched, only looked into now and then", "dir", path, "error", err)
		}
	}
}

func (n *notices) stop() {
	if n.watcher != nil {
		_ = n.watcher.Close()
	}
}
