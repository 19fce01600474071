// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"iter"
	"reflect"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/watch"
)

// firstLooks bounds the wait for files that are being written at the start.
const firstLooks = 8

// Changes yields what lies in the directories, and again after each change,
// until ctx ends.
func Changes(ctx context.Context, dirs []Directory, log hclog.Logger) iter.Seq[*Contents] {
	return func(yield func(*Contents) bool) {
		n := watch.New("", log)
		defer n.Stop()
		follow(ctx, dirs, n, yield)
	}
}

// follow looks at each event, and now and then without one.
func follow(ctx context.Context, dirs []Directory, n *watch.Notices, yield func(*Contents) bool) {
	s := &scanner{dirs: dirs, now: time.Now}
	n.Watch(paths(dirs, nil))
	var last *Contents
	for looks := 1; ; looks++ {
		c := s.scan()
		n.Watch(paths(dirs, c.folders))
		// The first look is taken for the whole, so it waits a moment for files
		// that were written just now.
		whole := !c.unsettled || looks > firstLooks
		if last == nil && whole || last != nil && !same(last, c) {
			if !yield(c) {
				return
			}
			last = c
		}
		pause := watch.Rescan
		if c.unsettled {
			pause = settled
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

// paths are the directories to be watched.
func paths(dirs []Directory, folders []string) []string {
	all := make([]string, 0, len(dirs)+len(folders))
	for _, d := range dirs {
		all = append(all, d.Path)
	}
	return append(all, folders...)
}
