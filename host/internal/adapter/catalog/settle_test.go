// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is the time that a scanner goes by.
type clock struct{ now time.Time }

func watched(dir string) (*scanner, *clock) {
	c := &clock{time.Now()}
	return &scanner{dirs: []Directory{{Path: dir}}, now: func() time.Time { return c.now }}, c
}

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func expect(t *testing.T, s *scanner, when string, want ...string) *Contents {
	t.Helper()
	c := s.scan()
	if diff := cmp.Diff(append([]string{}, want...), names(c)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", when, diff)
	}
	return c
}

func TestAFileThatWasWrittenJustNowIsOfferedOnceItHasSettled(t *testing.T) {
	dir := directory(t)
	s, clock := watched(dir)
	write(t, filepath.Join(dir, "orders"), "x", 0o755, clock.now)
	if c := expect(t, s, "just written"); !c.unsettled {
		t.Error("nobody is told to look again soon")
	}
	clock.pass(settled - time.Millisecond)
	expect(t, s, "a moment before it has settled")
	clock.pass(time.Millisecond)
	if c := expect(t, s, "settled", "orders"); c.unsettled {
		t.Error("somebody is told to look again soon")
	}
}

func TestAFileThatHasNotChangedForLongIsOfferedAtTheFirstLook(t *testing.T) {
	dir := directory(t)
	s, _ := watched(dir)
	put(t, dir, "orders")
	expect(t, s, "first look", "orders")
}

func TestAFileFromTheFutureSettlesToo(t *testing.T) {
	dir := directory(t)
	s, clock := watched(dir)
	write(t, filepath.Join(dir, "orders"), "x", 0o755, clock.now.Add(time.Hour))
	expect(t, s, "first look")
	clock.pass(settled)
	expect(t, s, "settled", "orders")
}

func TestAFileThatIsStillGrowingIsNotOffered(t *testing.T) {
	dir := directory(t)
	s, clock := watched(dir)
	path := filepath.Join(dir, "orders")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	chmod(t, path, 0o755)
	for range 50 {
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		touch(t, path, clock.now)
		expect(t, s, "growing")
		clock.pass(settled - time.Millisecond)
	}
	expect(t, s, "a moment before it has settled")
	clock.pass(settled)
	expect(t, s, "settled", "orders")
}

// A plugin that is updated is swapped, and not drained and started again.
func TestAReplacedFileIsOfferedAsItWasUntilTheNewOneHasSettled(t *testing.T) {
	for name, update := range map[string]func(*testing.T, string, time.Time){
		"renamed over": func(t *testing.T, path string, now time.Time) { replace(t, path, "new", now) },
		"written over": func(t *testing.T, path string, now time.Time) { write(t, path, "new", 0o755, now) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			s, clock := watched(dir)
			path := put(t, dir, "orders")
			before, _ := expect(t, s, "first look", "orders").Find("orders")

			update(t, path, clock.now)
			c := expect(t, s, "just replaced", "orders")
			if now, _ := c.Find("orders"); !cmp.Equal(now, before) || !c.unsettled {
				t.Errorf("just replaced it is %+v", now)
			}
			clock.pass(settled)
			if now, _ := expect(t, s, "settled", "orders").Find("orders"); now.Stamp == before.Stamp {
				t.Error("the new one is not seen")
			}
		})
	}
}

func TestARemovedFileIsGoneAtOnceAlsoWhileItsSuccessorSettles(t *testing.T) {
	dir := directory(t)
	s, clock := watched(dir)
	path := put(t, dir, "orders")
	expect(t, s, "first look", "orders")
	remove(t, path)
	expect(t, s, "removed")
	write(t, path, "new", 0o755, clock.now)
	expect(t, s, "written anew")
	clock.pass(settled)
	expect(t, s, "settled", "orders")
}

func TestAStampChangesWithEachChangeOfTheFile(t *testing.T) {
	changed := time.Now().Add(-time.Hour)
	for name, change := range map[string]func(*testing.T, string){
		"another size": func(t *testing.T, path string) { write(t, path, "longer", 0o755, changed) },
		"another time": func(t *testing.T, path string) { touch(t, path, changed.Add(time.Nanosecond)) },
		"another file of the same size and time": func(t *testing.T, path string) {
			replace(t, path, "twin", changed)
		},
		"a link to another file": func(t *testing.T, path string) {
			other := filepath.Join(filepath.Dir(path), ".other")
			write(t, other, "twin", 0o755, changed)
			remove(t, path)
			if err := os.Symlink(other, path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			path := filepath.Join(dir, "orders")
			write(t, path, "once", 0o755, changed)
			before, _ := look(dir).Find("orders")
			if again, _ := look(dir).Find("orders"); !cmp.Equal(again, before) {
				t.Fatalf("%+v, then %+v, without a change", before, again)
			}
			change(t, path)
			after, ok := look(dir).Find("orders")
			if !ok || after.Stamp == before.Stamp {
				t.Errorf("stamp %q, then %q", before.Stamp, after.Stamp)
			}
		})
	}
}
