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
		events, stop := notices(dirs, log)
		defer stop()
		follow(ctx, dirs, events, yield)
	}
}

// follow looks at each event, and now and then without one.
func follow(ctx context.Context, dirs []Directory, events <-chan struct{}, yield func(*Contents) bool) {
	s := &scanner{dirs: dirs, now: time.Now}
	var last *Contents
	for looks := 1; ; looks++ {
		c := s.scan()
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
		case <-events:
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

// notices tells of events in the directories, several as one. Where there are
// none to be had, the rescan does.
func notices(dirs []Directory, log hclog.Logger) (events <-chan struct{}, stop func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("directories are not watched, only looked into now and then", "every", rescan, "error", err)
		return nil, func() {}
	}
	for _, d := range dirs {
		if err := w.Add(d.Path); err != nil {
			log.Debug("directory is not watched, only looked into now and then", "dir", d.Path, "error", err)
		}
	}
	out := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case _, open := <-w.Events:
				if !open {
					return
				}
			case _, open := <-w.Errors:
				if !open {
					return
				}
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, func() { _ = w.Close() }
}
