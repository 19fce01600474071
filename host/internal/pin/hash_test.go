// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// tree makes a folder of files: "x bin/run" is an executable, "l a -> b" a link,
// "d a" a directory, "f a" a file. The content of a file is its path.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	grow(t, dir, entries...)
	return dir
}

func grow(t *testing.T, dir string, entries ...string) {
	t.Helper()
	for _, e := range entries {
		path, target, _ := strings.Cut(e[2:], " -> ")
		full := filepath.Join(dir, path)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		switch {
		case err != nil:
		case e[0] == 'd':
			err = os.MkdirAll(full, 0o755)
		case e[0] == 'l':
			err = os.Symlink(target, full)
		default:
			mode := os.FileMode(0o644)
			if e[0] == 'x' {
				mode = 0o755
			}
			err = os.WriteFile(full, []byte(path), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func hash(t *testing.T, path string, folder bool) string {
	t.Helper()
	d, err := Hash(path, folder)
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func TestTheHashOfAnExecutableIsItsSHA256(t *testing.T) {
	path := filepath.Join(tree(t, "x foo"), "foo")
	if got, want := hash(t, path, false), "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The list is the one that docs/plugins.md describes.
func TestTheHashOfAFolderIsThatOfItsList(t *testing.T) {
	dir := tree(t, "x bin/foo", "f foo", "l a.link -> foo", "d empty", "f a/foo", "f .hidden")
	sum := func(s string) string { return strings.TrimPrefix(tool.DigestOf([]byte(s)).String(), "sha256:") }
	list := "f " + sum(".hidden") + " .hidden\n" +
		"d - a\n" +
		"l " + sum("foo") + " a.link\n" +
		"f " + sum("a/foo") + " a/foo\n" +
		"d - bin\n" +
		"x " + sum("bin/foo") + " bin/foo\n" +
		"d - empty\n" +
		"f " + sum("foo") + " foo\n"
	if got, want := hash(t, dir, true), tool.DigestOf([]byte(list)).String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheHashOfAFolderDependsOnEverythingInIt(t *testing.T) {
	entries := []string{"x bin/foo", "f foo", "l link -> foo", "d empty"}
	plain := hash(t, tree(t, entries...), true)
	if again := hash(t, tree(t, entries...), true); again != plain {
		t.Fatalf("%s, then %s", plain, again)
	}
	for name, change := range map[string]func(dir string) error{
		"a content":          func(dir string) error { return os.WriteFile(filepath.Join(dir, "foo"), []byte("bar"), 0o600) },
		"what is executable": func(dir string) error { return os.Chmod(filepath.Join(dir, "foo"), 0o755) },
		"one more":           func(dir string) error { return os.WriteFile(filepath.Join(dir, ".x"), nil, 0o600) },
		"one less":           func(dir string) error { return os.Remove(filepath.Join(dir, "empty")) },
		"a name":             func(dir string) error { return os.Rename(filepath.Join(dir, "foo"), filepath.Join(dir, "fop")) },
		"where a link leads": func(dir string) error {
			return os.Symlink("bin", filepath.Join(dir, "link2"))
		},
	} {
		dir := tree(t, entries...)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if hash(t, dir, true) == plain {
			t.Errorf("%s does not count", name)
		}
	}
	dir := tree(t, entries...)
	for _, mode := range []os.FileMode{0o600, 0o664} { // a umask is no difference
		if err := os.Chmod(filepath.Join(dir, "foo"), mode); err != nil {
			t.Fatal(err)
		}
		if got := hash(t, dir, true); got != plain {
			t.Errorf("mode %o counts", mode)
		}
	}
}
