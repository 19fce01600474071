// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsAPluginAndWhatIsNot(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	link := func(target string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := func(mode os.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) { write(t, path, "x", mode, old) }
	}
	for name, tc := range map[string]struct {
		file string
		make func(*testing.T, string)
		want string // the plugin's name, empty for none
		note string // what the note says, empty for none
	}{
		"an executable":                      {"orders", file(0o755), "orders", ""},
		"executable for its owner only":      {"orders", file(0o700), "orders", ""},
		"all the characters of a name":       {"a-1_z", file(0o755), "a-1_z", ""},
		"a name without .exe":                {"orders.exe", file(0o755), "orders", ""},
		"a link to an executable":            {"shell", link("/bin/sh"), "shell", ""},
		"the longest name":                   {"a" + strings.Repeat("x", 62), file(0o755), "a" + strings.Repeat("x", 62), ""},
		"a name that is longer":              {"a" + strings.Repeat("x", 63), file(0o755), "", "at most 63"},
		"a name with capitals":               {"Orders", file(0o755), "", "a plugin's name begins with a-z"},
		"a name that begins with a digit":    {"1orders", file(0o755), "", "a plugin's name begins with a-z"},
		"a name with a space":                {"or ders", file(0o755), "", "a plugin's name begins with a-z"},
		"a name with an extension":           {"orders.py", file(0o755), "", "a plugin's name begins with a-z"},
		"a name that is not ASCII":           {"größe", file(0o755), "", "a plugin's name begins with a-z"},
		"a hidden file":                      {".orders", file(0o755), "", ""},
		"a file that cannot be executed":     {"readme", file(0o644), "", ""},
		"a directory":                        {"orders", func(t *testing.T, p string) { mkdir(t, p) }, "", ""},
		"a link to a directory":              {"orders", link("/bin"), "", ""},
		"a link to nothing":                  {"orders", link("/nowhere"), "", ""},
		"a link to itself":                   {"orders", link("orders"), "", ""},
		"a hidden link":                      {".orders", link("/bin/sh"), "", ""},
		"a bad name that cannot be executed": {"README.md", file(0o644), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			tc.make(t, filepath.Join(dir, tc.file))
			c := look(dir)
			want := []string{}
			if tc.want != "" {
				want = append(want, tc.want)
			}
			if diff := cmp.Diff(want, names(c)); diff != "" {
				t.Errorf("plugins (-want +got):\n%s", diff)
			}
			if tc.note == "" {
				expectNotes(t, c)
			} else {
				expectNotes(t, c, []string{filepath.Join(dir, tc.file) + " is left out", tc.note})
			}
		})
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, 0o755)
}

func TestPluginsAreSortedAndFoundByName(t *testing.T) {
	dir := directory(t)
	for _, name := range []string{"c", "a", "b"} {
		put(t, dir, name)
	}
	c := look(dir)
	if diff := cmp.Diff([]string{"a", "b", "c"}, names(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"a", "b", "c"} {
		if p, ok := c.Find(name); !ok || p.Name != name || p.Path != filepath.Join(dir, name) {
			t.Errorf("%s: found %v %+v", name, ok, p)
		}
	}
	for _, name := range []string{"", "aa", "d"} {
		if p, ok := c.Find(name); ok {
			t.Errorf("%q: found %+v", name, p)
		}
	}
}

func TestThePathOfALinkedPluginIsWhereTheLinkLeads(t *testing.T) {
	dir, elsewhere := directory(t), directory(t)
	target := put(t, elsewhere, "orders-1.2")
	if err := os.Symlink(target, filepath.Join(dir, "orders")); err != nil {
		t.Fatal(err)
	}
	if p, _ := look(dir).Find("orders"); p.Path != target {
		t.Errorf("path %q, want %q", p.Path, target)
	}
}

func TestOfTwoPluginsOfOneNameTheFirstDirectoryWinsAndTheOtherIsNoted(t *testing.T) {
	first, second := directory(t), directory(t)
	put(t, first, "orders")
	put(t, second, "orders")
	put(t, second, "shop")
	s := scanner{now: time.Now, dirs: []Directory{{Path: first}, {Path: second, DropIn: true}}}
	c := s.scan()
	if p, _ := c.Find("orders"); p.Path != filepath.Join(first, "orders") || p.DropIn {
		t.Errorf("orders is %+v", p)
	}
	if p, _ := c.Find("shop"); p.Path != filepath.Join(second, "shop") || !p.DropIn {
		t.Errorf("shop is %+v", p)
	}
	expectNotes(t, c, []string{
		filepath.Join(second, "orders") + " is left out", filepath.Join(first, "orders") + " has the same name and comes first",
	})
}

func TestADirectoryThatIsNotThereHoldsNothing(t *testing.T) {
	dir := directory(t)
	c := look(filepath.Join(dir, "nowhere"))
	if len(c.Plugins) != 0 {
		t.Errorf("found %+v", c.Plugins)
	}
	expectNotes(t, c)
}

func TestADirectoryThatCannotBeReadIsNotedAndTheOthersCount(t *testing.T) {
	dir, good := directory(t), directory(t)
	file := put(t, dir, "file")
	put(t, good, "orders")
	c := look(file, good)
	if diff := cmp.Diff([]string{"orders"}, names(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	expectNotes(t, c, []string{file, "is left out"})
}

func TestADirectoryOfTooManyFilesIsNoPluginDirectory(t *testing.T) {
	dir := directory(t)
	put(t, dir, "orders")
	for i := range maxFiles {
		write(t, filepath.Join(dir, fmt.Sprintf("page%d.txt", i)), "", 0o644, time.Now())
	}
	c := look(dir)
	if len(c.Plugins) != 0 {
		t.Errorf("found %+v", c.Plugins)
	}
	expectNotes(t, c, []string{dir, "more than 1000 files"})
}
