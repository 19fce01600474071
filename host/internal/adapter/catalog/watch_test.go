// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/watch"
)

// follower is a reader of what follow yields.
type follower struct {
	cancel context.CancelFunc

	mu   sync.Mutex
	seen []*Contents
}

func (f *follower) all() []*Contents {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// newFollower follows a directory without any event: only the rescan tells.
func newFollower(t *testing.T, dir string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{cancel: cancel}
	go follow(ctx, []Directory{{Path: dir}}, &watch.Notices{}, func(c *Contents) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seen = append(f.seen, c)
		return true
	})
	synctest.Wait()
	return f
}

// next is the one change that is seen within time.
func (f *follower) next(t *testing.T, within time.Duration) *Contents {
	t.Helper()
	before := len(f.all())
	time.Sleep(within)
	synctest.Wait()
	seen := f.all()
	if len(seen) != before+1 {
		t.Fatalf("%d changes were seen, want one", len(seen)-before)
	}
	return seen[before]
}

func TestWithoutAnyEventTheRescanSeesEachChange(t *testing.T) {
	dir := directory(t)
	path := put(t, dir, "orders")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // whose time is long ago: all files are from the future
		f := newFollower(t, dir)
		first := f.next(t, settled)
		if !slices.Equal(names(first), []string{"orders"}) {
			t.Fatalf("first look: %v", names(first))
		}
		before := first
		for _, step := range []struct {
			what   string
			change func()
			want   []string
		}{
			{"added", func() { put(t, dir, "shop") }, []string{"orders", "shop"}},
			{"removed", func() { remove(t, filepath.Join(dir, "shop")) }, []string{"orders"}},
			{"replaced by one of the same size and time", func() {
				replace(t, path, "#!/bin/sh\n", info.ModTime())
			}, []string{"orders"}},
			{"made unsafe", func() { chmod(t, path, 0o777) }, []string{}},
		} {
			step.change()
			c := f.next(t, watch.Rescan+2*settled)
			if !slices.Equal(names(c), step.want) {
				t.Errorf("%s: %v, want %v", step.what, names(c), step.want)
			}
			if same(before, c) {
				t.Errorf("%s: the same as before", step.what)
			}
			before = c
		}
		seen := len(f.all())
		time.Sleep(10 * watch.Rescan)
		synctest.Wait()
		if more := len(f.all()) - seen; more != 0 {
			t.Errorf("%d changes were seen where none was", more)
		}
		f.cancel() // synctest fails if the follower does not end
	})
}

func TestTheFirstLookWaitsForWhatIsBeingWrittenButNotForEver(t *testing.T) {
	dir := directory(t)
	put(t, dir, "orders")
	growing := put(t, dir, "growing")
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(settled / 2):
					touch(t, growing, time.Now())
				}
			}
		}()
		f := newFollower(t, dir)
		first := f.next(t, 2*firstLooks*settled)
		if !slices.Equal(names(first), []string{"orders"}) {
			t.Errorf("first look: %v", names(first))
		}
		close(stop)
		second := f.next(t, 3*settled)
		if !slices.Equal(names(second), []string{"growing", "orders"}) {
			t.Errorf("second look: %v", names(second))
		}
		f.cancel()
	})
}

func TestTheReaderMayStopWheneverItLikes(t *testing.T) {
	dir := directory(t)
	put(t, dir, "orders")
	for c := range Changes(t.Context(), []Directory{{Path: dir}}, hclog.NewNullLogger()) {
		if !slices.Equal(names(c), []string{"orders"}) {
			t.Errorf("%v", names(c))
		}
		break
	}
}

// bound is how long something may take that a busy machine does late.
const bound = 30 * time.Second

func TestEventsOfTheFileSystemComeWithoutWaitingForTheRescan(t *testing.T) {
	for what, change := range map[string]func(t *testing.T, dir, orders string){
		"replaced": func(t *testing.T, _, orders string) { replace(t, orders, "new", time.Now()) },
		"added":    func(t *testing.T, dir, _ string) { put(t, dir, "shop") },
		"removed":  func(t *testing.T, _, orders string) { remove(t, orders) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := directory(t)
			orders := put(t, dir, "orders")
			missing := filepath.Join(dir, "nowhere") // costs the other one nothing
			n := watch.New("", hclog.NewNullLogger())
			defer n.Stop()
			n.Watch([]string{missing, dir})
			change(t, dir, orders)
			select {
			case <-n.Events:
			case <-time.After(bound):
				t.Error("no event came")
			}
		})
	}
}

func TestChangesShowsWhatHappensInTheDirectories(t *testing.T) {
	dir := directory(t)
	later := filepath.Join(dir, "later") // is not there yet
	path := put(t, dir, "orders")
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	var first Plugin
	steps := []struct {
		change func()
		done   func(*Contents) bool
	}{
		{
			func() {},
			func(c *Contents) bool { p, ok := c.Find("orders"); first = p; return ok },
		},
		{
			func() { replace(t, path, "new", time.Now()) },
			func(c *Contents) bool { p, ok := c.Find("orders"); return ok && p.Stamp != first.Stamp },
		},
		{
			func() { mkdir(t, later); put(t, later, "shop") },
			func(c *Contents) bool { _, ok := c.Find("shop"); return ok },
		},
		{
			func() { remove(t, path) },
			func(c *Contents) bool { return slices.Equal(names(c), []string{"shop"}) },
		},
	}
	steps[0].change()
	for c := range Changes(ctx, []Directory{{Path: dir}, {Path: later}}, hclog.NewNullLogger()) {
		if len(steps) == 3 && len(c.Plugins) == 0 {
			t.Error("while it was replaced it was not there")
		}
		if !steps[0].done(c) {
			continue
		}
		if steps = steps[1:]; len(steps) == 0 {
			cancel()
			return
		}
		steps[0].change()
	}
	t.Fatalf("%d steps were not seen", len(steps))
}

func TestScanWaitsForWhatIsBeingWritten(t *testing.T) {
	dir := directory(t)
	write(t, filepath.Join(dir, "orders"), "x", 0o755, time.Now())
	c := Scan(t.Context(), []Directory{{Path: dir}})
	if !slices.Equal(names(c), []string{"orders"}) {
		t.Errorf("found %v", names(c))
	}
}

func TestScanEndsWithTheContext(t *testing.T) {
	dir := directory(t)
	path := put(t, dir, "orders")
	touch(t, path, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c := Scan(ctx, []Directory{{Path: dir}}); len(c.Plugins) != 0 {
		t.Errorf("found %v", names(c))
	}
}
