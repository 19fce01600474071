// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// sight is a watcher with a clock of its own.
type sight struct {
	*watcher

	t   *testing.T
	now time.Time
}

func newSight(t *testing.T, text string) *sight {
	t.Helper()
	s := &sight{t: t, now: time.Now(), watcher: &watcher{path: filepath.Join(t.TempDir(), "toolwharf.yaml")}}
	s.write(text)
	f, _ := Open(s.path)
	s.known = f.Sum()
	s.expect("nothing", time.Minute)
	return s
}

// write changes the file in place.
func (s *sight) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// expect says what is yielded within a time: "nothing", a content, or "faults".
func (s *sight) expect(want string, within time.Duration) {
	s.t.Helper()
	got := "nothing"
	for end := s.now.Add(within); ; {
		f, faults, changed, pause := s.look(s.now)
		switch {
		case !changed:
		case got != "nothing":
			s.t.Fatal("yielded twice")
		case f == nil && len(faults) > 0:
			got = "faults"
		default:
			got = string(f.Data)
		}
		if s.now = s.now.Add(pause); s.now.After(end) {
			s.now = end
			break
		}
	}
	if got != want {
		s.t.Fatalf("yielded %q, want %q", got, want)
	}
}

func TestAFileIsYieldedOnceItHasComeToRest(t *testing.T) {
	s := newSight(t, "name: a\n")
	for _, half := range []string{"name: b", "name: bb", "name: bbb"} {
		s.write(half)
		s.expect("nothing", settled-time.Millisecond)
	}
	s.expect("name: bbb", settled)
	s.expect("nothing", time.Hour)
}

func TestAFileThatIsWrittenAgainWithTheSameContentIsNoChange(t *testing.T) {
	s := newSight(t, "name: a\n")
	s.write("name: b\n")
	s.write("name: a\n")
	s.expect("nothing", time.Minute)
}

func TestAFileThatIsRenamedIntoPlaceIsAChange(t *testing.T) {
	s := newSight(t, "name: a\n")
	fresh := s.path + "~"
	if err := os.WriteFile(fresh, []byte("name: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, s.path); err != nil {
		t.Fatal(err)
	}
	s.expect("name: b\n", time.Minute)
}

func TestAFileThatIsEmptyOrGoneForAMomentIsNotTakenForAConfiguration(t *testing.T) {
	s := newSight(t, "name: a\n")
	s.write("")
	s.expect("nothing", settledEmpty-time.Millisecond)
	s.write("name: b\n")
	s.expect("name: b\n", time.Minute)
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	s.expect("nothing", settledEmpty-time.Millisecond)
	s.expect("faults", time.Minute)
	s.expect("nothing", time.Hour)
	s.write("name: b\n")
	s.expect("name: b\n", time.Minute)
	s.write("")
	s.expect("", time.Minute)
}

func TestChangesFollowsAFileThroughALink(t *testing.T) {
	dir := t.TempDir()
	first, second, link := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "toolwharf.yaml")
	for _, f := range []string{first, second} {
		if err := os.WriteFile(f, []byte("name: "+filepath.Base(f)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	relink := func(to string) {
		if err := os.Symlink(to, link+"~"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link+"~", link); err != nil {
			t.Fatal(err)
		}
	}
	relink(first)
	c, faults := Load(link)
	if c == nil {
		t.Fatal(faults)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	relink(second)
	for f, faults := range Changes(ctx, link, c.Sum, hclog.NewNullLogger()) {
		if f == nil {
			t.Fatal(faults)
		}
		if string(f.Data) != "name: second" || f.Path != link {
			t.Errorf("yielded %+v", f)
		}
		return
	}
	t.Error("the change was not seen")
}

func TestTheStateDirectoryIsFoundInAFileThatIsBroken(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "toolwharf.yaml")
	for text, want := range map[string]string{
		"state: here\ncolour: blue\nrules: 7\n": filepath.Join(dir, "here"),
		"state: [x]\n":                          filepath.Join(dir, ".toolwharf"),
		"state: /abs\nadapters: {A: {}}\n":      "/abs",
		"{{{":                                   filepath.Join(dir, ".toolwharf"),
		"":                                      filepath.Join(dir, ".toolwharf"),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := StateOf(file); got != want {
			t.Errorf("of %q: %s, want %s", text, got, want)
		}
	}
	if got := StateOf(filepath.Join(dir, "nowhere.yaml")); got != filepath.Join(dir, ".toolwharf") {
		t.Errorf("of no file: %s", got)
	}
}
