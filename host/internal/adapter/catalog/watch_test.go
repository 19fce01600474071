// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// follower is a reader of what follow yields.
type follower struct {
	seen   []*Contents
	cancel context.CancelFunc
}

// newFollower follows a directory without any event: only the rescan tells.
func newFollower(t *testing.T, dir string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{cancel: cancel}
	go follow(ctx, []Directory{{Path: dir}}, nil, func(c *Contents) bool {
		f.seen = append(f.seen, c)
		return true
	})
	synctest.Wait()
	return f
}

// next is the one change that is seen within time.
func (f *follower) next(t *testing.T, within time.Duration) *Contents {
	t.Helper()
	before := len(f.seen)
	time.Sleep(within)
	synctest.Wait()
	if len(f.seen) != before+1 {
		t.Fatalf("%d changes were seen, want one", len(f.seen)-before)
	}
	return f.seen[before]
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
			before := f.seen[len(f.seen)-1]
			step.change()
			c := f.next(t, rescan+2*settled)
			if !slices.Equal(names(c), step.want) {
				t.Errorf("%s: %v, want %v", step.what, names(c), step.want)
			}
			if same(before, c) {
				t.Errorf("%s: the same as before", step.what)
			}
		}
		seen := len(f.seen)
		time.Sleep(10 * rescan)
		synctest.Wait()
		if len(f.seen) != seen {
			t.Errorf("%d changes were seen where none was", len(f.seen)-seen)
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
		begin := time.Now()
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(settled / 2):
					touch(t, growing, begin.Add(time.Duration(i)))
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
	dir := directory(t)
	path := put(t, dir, "orders")
	events, stop := notices([]Directory{{Path: dir}, {Path: filepath.Join(dir, "nowhere")}}, hclog.NewNullLogger())
	defer stop()
	for what, change := range map[string]func(){
		"replaced": func() { replace(t, path, "new", time.Now()) },
		"added":    func() { put(t, dir, "shop") },
		"removed":  func() { remove(t, filepath.Join(dir, "shop")) },
	} {
		if what == "removed" {
			put(t, dir, "shop")
		}
		for drained := false; !drained; { // of earlier changes
			select {
			case <-events:
			case <-time.After(50 * time.Millisecond):
				drained = true
			}
		}
		change()
		select {
		case <-events:
		case <-time.After(bound):
			t.Errorf("%s: no event came", what)
		}
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
