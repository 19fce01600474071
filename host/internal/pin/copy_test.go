// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func take(t *testing.T, s *Shelf, path string, folder bool) (at string, hash tool.Digest) {
	t.Helper()
	hash, err := Hash(path, folder)
	if err != nil {
		t.Fatal(err)
	}
	if at, err = s.Take("plugin", path, folder, hash); err != nil {
		t.Fatal(err)
	}
	return at, hash
}

// An adapter that has a user of its own runs the copy, if it could run the original.
func TestACopyIsReadAndExecutedByWhomTheOriginalIs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no modes")
	}
	for mode, want := range map[os.FileMode]os.FileMode{0o700: 0o500, 0o755: 0o505, 0o711: 0o501, 0o750: 0o500} {
		path := filepath.Join(tree(t, "x bin/run"), "bin", "run")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		s := &Shelf{Dir: t.TempDir()}
		t.Cleanup(func() { _ = Remove(s.Dir) })
		at, _ := take(t, s, path, false)
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != want {
			t.Errorf("of a file of mode %o: %v, want %o", mode, info.Mode(), want)
		}
		for dir := filepath.Dir(at); dir != s.Dir; dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o066 != 0 {
				t.Errorf("%s has mode %v", dir, info.Mode())
			}
		}
	}
}

func TestWhatRunsIsACopyThatIsAsPinned(t *testing.T) {
	for name, folder := range map[string]bool{"an executable": false, "a folder": true} {
		t.Run(name, func(t *testing.T) {
			path := tree(t, "x bin/run", "f data", "l link -> data", "d empty")
			if !folder {
				path = filepath.Join(path, "bin", "run")
			}
			s := &Shelf{Dir: t.TempDir()}
			t.Cleanup(func() { _ = Remove(s.Dir) })
			at, hash := take(t, s, path, folder)
			if !strings.HasPrefix(at, s.Dir) {
				t.Fatalf("it is %s", at)
			}
			if again, _ := take(t, s, path, folder); again != at {
				t.Errorf("it is %s, then %s", at, again)
			}
			err := filepath.WalkDir(at, func(p string, d os.DirEntry, err error) error {
				if info, err := d.Info(); err != nil || d.Type()&os.ModeSymlink == 0 && info.Mode().Perm()&0o272 != 0 {
					t.Errorf("%s has mode %v, %v", p, info.Mode(), err)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}

			// A copy that somebody has been at is made anew.
			spoilt := at
			if folder {
				spoilt = filepath.Join(at, "bin", "run")
			}
			for _, p := range []string{filepath.Dir(spoilt), spoilt} {
				if err := os.Chmod(p, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(spoilt, []byte("evil"), 0o600); err != nil {
				t.Fatal(err)
			}
			if again, _ := take(t, s, path, folder); again != at {
				t.Errorf("it is %s, then %s", at, again)
			}
			if got, err := Hash(at, folder); err != nil || got != hash {
				t.Errorf("the copy has %v, %v", got, err)
			}

			// A program that has changed is refused, also if its copy is there.
			original := path
			if folder {
				original = filepath.Join(path, "data")
			}
			if err := os.WriteFile(original, []byte("changed"), 0o600); err != nil {
				t.Fatal(err)
			}
			mismatch := (*MismatchError)(nil)
			if _, err := s.Take("plugin", path, folder, hash); !errors.As(err, &mismatch) || mismatch.Pin != hash || mismatch.Now == hash {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(mismatch.Error(), "run `toolwharf plugins pin plugin`") {
				t.Error(mismatch)
			}
			if err := Remove(s.Dir); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Error("something is left of it")
			}
		})
	}
}

func TestWhatCannotBeCopiedLeavesNothing(t *testing.T) {
	path := tree(t, "f data")
	s := &Shelf{Dir: t.TempDir()}
	for name, p := range map[string]string{"nothing": filepath.Join(path, "no"), "a directory": path} {
		if _, err := s.Take("plugin", p, false, digest("x")); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) != 0 {
		t.Errorf("left are %v, %v", entries, err)
	}
}
