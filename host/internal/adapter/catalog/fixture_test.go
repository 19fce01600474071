// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// directory is a fresh directory that only its owner can write, below others of
// the same kind.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		chmod(t, d, 0o755)
	}
	return dir
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil { // not subject to the umask
		t.Fatal(err)
	}
}

// put writes an executable that has not changed for an hour.
func put(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	write(t, path, "#!/bin/sh\n", 0o755, time.Now().Add(-time.Hour))
	return path
}

func write(t *testing.T, path, content string, mode os.FileMode, changed time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	touch(t, path, changed)
}

func touch(t *testing.T, path string, changed time.Time) {
	t.Helper()
	if err := os.Chtimes(path, changed, changed); err != nil {
		t.Fatal(err)
	}
}

// replace puts a new file in the place of path, as package managers do.
func replace(t *testing.T, path, content string, changed time.Time) {
	t.Helper()
	fresh := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	write(t, fresh, content, 0o755, changed)
	rename(t, fresh, path)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// look is one look into directories.
func look(dirs ...string) *Contents {
	s := scanner{now: time.Now}
	for _, d := range dirs {
		s.dirs = append(s.dirs, Directory{Path: d})
	}
	return s.scan()
}

func names(c *Contents) []string {
	out := []string{}
	for _, p := range c.Plugins {
		out = append(out, p.Name)
	}
	return out
}

// expectNotes: one note for each, which holds all the words of it.
func expectNotes(t *testing.T, c *Contents, want ...[]string) {
	t.Helper()
	if len(c.Notes) != len(want) {
		t.Fatalf("%d notes, want %d: %q", len(c.Notes), len(want), c.Notes)
	}
	for i, words := range want {
		for _, w := range words {
			if !strings.Contains(c.Notes[i], w) {
				t.Errorf("note %q does not say %q", c.Notes[i], w)
			}
		}
	}
}
