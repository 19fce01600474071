// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch tells that something may have happened in directories. What has
// happened is for whoever looks: events get lost, and some file systems have
// none.
package watch

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/hashicorp/go-hclog"
)

// Rescan is how often to look anyway: a missed event must not matter.
const Rescan = 3 * time.Second

// maxDirectories are watched at once: each costs the system's own bound a
// little. The rescan sees the others.
const maxDirectories = 1000

// Notices tell of events in directories, several as one. Where there are none
// to be had, the rescan does. The zero Notices have none.
type Notices struct {
	// Events are what may have happened.
	Events chan struct{}

	name    string
	watcher *fsnotify.Watcher // nil: there are none
	log     hclog.Logger
}

// New returns notices of no directory yet. If name is not empty, only events of
// files of that name count. Stop must be called.
func New(name string, log hclog.Logger) *Notices {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("directories are not watched, only looked into now and then", "every", Rescan, "error", err)
		return &Notices{}
	}
	n := &Notices{Events: make(chan struct{}, 1), name: name, watcher: w, log: log}
	go n.gather()
	return n
}

func (n *Notices) gather() {
	for {
		select {
		case e, open := <-n.watcher.Events:
			if !open {
				return
			}
			if n.name != "" && filepath.Base(e.Name) != n.name {
				continue
			}
		case _, open := <-n.watcher.Errors:
			if !open {
				return
			}
		}
		select {
		case n.Events <- struct{}{}:
		default:
		}
	}
}

// Watch says which directories are watched from now on. One that is there
// already is added again: another may have come in its place.
func (n *Notices) Watch(dirs []string) {
	if n.watcher == nil {
		return
	}
	dirs = dirs[:min(len(dirs), maxDirectories)]
	for _, path := range n.watcher.WatchList() {
		if !slices.Contains(dirs, path) {
			_ = n.watcher.Remove(path)
		}
	}
	for _, path := range dirs {
		if err := n.watcher.Add(path); err != nil {
			n.log.Trace("directory is not watched, only looked into now and then", "dir", path, "error", err)
		}
	}
}

// Watched are the directories that are watched.
func (n *Notices) Watched() []string {
	if n.watcher == nil {
		return nil
	}
	return n.watcher.WatchList()
}

// Stop ends the watch.
func (n *Notices) Stop() {
	if n.watcher != nil {
		_ = n.watcher.Close()
	}
}
