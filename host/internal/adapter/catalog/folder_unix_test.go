//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/watch"
)

// putFolder makes a folder that is a plugin and has not changed for an hour.
func putFolder(t *testing.T, dir, name, manifest string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	mkdir(t, path)
	mkdir(t, filepath.Join(path, "bin"))
	put(t, filepath.Join(path, "bin"), "server")
	old := time.Now().Add(-time.Hour)
	write(t, filepath.Join(path, "main.py"), "print()\n", 0o644, old)
	write(t, filepath.Join(path, manifestName), manifest, 0o644, old)
	settle(t, path)
	return path
}

// settle lets a folder look as if nothing had changed in it for an hour.
func settle(t *testing.T, path string) {
	t.Helper()
	old := unix.NsecToTimespec(time.Now().Add(-time.Hour).UnixNano())
	err := filepath.WalkDir(path, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{old, old}, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderWithACommandIsAPlugin(t *testing.T) {
	dir := directory(t)
	path := putFolder(t, dir, "weather", "# what runs\ncommand: [bin/server, --fast, ./main.py]\n")
	mkdir(t, filepath.Join(dir, "data")) // no plugin.yaml: nothing is said about it
	hidden := putFolder(t, dir, ".hidden", "command: [bin/server]\n")
	put(t, dir, "orders")
	c := look(dir)
	expectNotes(t, c)
	if diff := cmp.Diff([]string{"orders", "weather"}, names(c)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	got, _ := c.Find("weather")
	want := Plugin{Name: "weather", Path: path, Command: []string{"bin/server", "--fast", "./main.py"}, Stamp: got.Stamp}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if slices.Contains(c.folders, hidden) || !slices.Contains(c.folders, filepath.Join(path, "bin")) {
		t.Errorf("watched are %v", c.folders)
	}
}

func TestTheInterpreterOfAFolderLiesElsewhere(t *testing.T) {
	dir, elsewhere := directory(t), directory(t)
	python := put(t, elsewhere, "python3")
	symlink(t, python, filepath.Join(elsewhere, "python"))
	putFolder(t, dir, "weather", "command: ["+filepath.Join(elsewhere, "python")+", ./main.py]\n")
	c := look(dir)
	expectNotes(t, c)
	before, _ := c.Find("weather")
	replace(t, python, "another version", time.Now().Add(-time.Hour))
	if after, ok := look(dir).Find("weather"); !ok || after.Stamp == before.Stamp {
		t.Errorf("with another interpreter: %+v", after)
	}
	chmod(t, elsewhere, 0o777)
	expectNotes(t, look(dir), []string{"weather is left out", "plugin.yaml:1: command", elsewhere + " can be written by others"})
}

func TestAFolderWhoseCommandCannotBeExecutedIsLeftOut(t *testing.T) {
	for name, tc := range map[string]struct {
		manifest string
		words    []string
	}{
		"no command":              {"# later\n", []string{"plugin.yaml", "command", "is missing"}},
		"by name":                 {"command: [python3, ./main.py]\n", []string{"plugin.yaml:1", `no "python3" in the folder`, "absolute path"}},
		"not executable":          {"command:\n  - main.py\n", []string{"plugin.yaml:2", `"main.py" cannot be executed`, "chmod +x"}},
		"a directory":             {"command: [bin]\n", []string{`"bin" cannot be executed`}},
		"out of the folder":       {"command: [../orders]\n", []string{`no "../orders" in the folder`}},
		"an argument not there":   {"command:\n  - bin/server\n  - ./no.py\n", []string{"plugin.yaml:3", `no "./no.py" in the folder`}},
		"an argument out of it":   {"command: [bin/server, ./../orders]\n", []string{`no "./../orders" in the folder`}},
		"absolute, of the folder": {"command: [\"DIR/weather/bin/server\"]\n", []string{"names the folder itself", "begin it with ./"}},
		"an absolute argument":    {"command: [bin/server, \"DIR/weather/main.py\"]\n", []string{"names the folder itself"}},
		"absolute, nowhere":       {"command: [/no/such/file]\n", []string{`"/no/such/file" cannot be executed`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			put(t, dir, "orders")
			putFolder(t, dir, "weather", strings.ReplaceAll(tc.manifest, "DIR", dir))
			c := look(dir)
			if diff := cmp.Diff([]string{"orders"}, names(c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			expectNotes(t, c, append(tc.words, filepath.Join(dir, "weather")+" is left out"))
		})
	}
}

// Whoever can write one file of a folder decides what the host runs.
func TestEverythingInAFolderMustBeTrusted(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, path string)
		words []string
	}{
		"a file that others can write": {
			func(t *testing.T, path string) { chmod(t, filepath.Join(path, "main.py"), 0o646) },
			[]string{"main.py can be written by others", "chmod go-w"},
		},
		"a directory that others can write": {
			func(t *testing.T, path string) { chmod(t, filepath.Join(path, "bin"), 0o757) },
			[]string{"bin can be written by others"},
		},
		"a sticky directory": {
			func(t *testing.T, path string) { chmod(t, filepath.Join(path, "bin"), 0o777|os.ModeSticky) },
			[]string{"bin can be written by others"},
		},
		"the folder itself": {
			func(t *testing.T, path string) { chmod(t, path, 0o757) },
			[]string{"weather can be written by others"},
		},
		"a hidden file": {
			func(t *testing.T, path string) {
				write(t, filepath.Join(path, ".rc"), "x", 0o666, time.Now().Add(-time.Hour))
			},
			[]string{".rc can be written by others"},
		},
		"an absolute link": {
			func(t *testing.T, path string) {
				symlink(t, filepath.Join(path, "main.py"), filepath.Join(path, "bin", "py"))
			},
			[]string{"bin/py is a link that leaves the folder"},
		},
		"a link that leaves it": {
			func(t *testing.T, path string) { symlink(t, "../../etc", filepath.Join(path, "bin", "etc")) },
			[]string{"bin/etc is a link that leaves the folder"},
		},
		"a link that leaves it and comes back": {
			func(t *testing.T, path string) { symlink(t, "../weather/main.py", filepath.Join(path, "again")) },
			[]string{"again is a link that leaves the folder"},
		},
		"a pipe": {
			func(t *testing.T, path string) {
				if err := unix.Mkfifo(filepath.Join(path, "pipe"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"pipe is neither a file nor a directory nor a link"},
		},
		"a name that is no line": {
			func(t *testing.T, path string) {
				write(t, filepath.Join(path, "a\nb"), "", 0o644, time.Now().Add(-time.Hour))
			},
			[]string{`"a\nb" is no name`},
		},
		"more bytes than a plugin has": {
			func(t *testing.T, path string) {
				if err := os.Truncate(filepath.Join(path, "main.py"), 1<<40); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"it holds more than 512 MiB"},
		},
		"more files than a plugin has": {
			func(t *testing.T, path string) {
				for i := range 10_000 {
					f, err := os.Create(filepath.Join(path, fmt.Sprint(i)))
					if err != nil {
						t.Fatal(err)
					}
					_ = f.Close()
				}
			},
			[]string{"it holds more than 10000 files"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			path := putFolder(t, dir, "weather", "command: [bin/server]\n")
			expectNotes(t, look(dir))
			tc.spoil(t, path)
			settle(t, path)
			c := look(dir)
			if len(c.Plugins) != 0 {
				t.Errorf("found %+v", c.Plugins)
			}
			expectNotes(t, c, append(tc.words, path+" is left out"))
		})
	}
}

func TestLinksWithinAFolderArePartOfIt(t *testing.T) {
	dir := directory(t)
	path := putFolder(t, dir, "weather", "command: [run]\n")
	symlink(t, "bin/server", filepath.Join(path, "run"))
	symlink(t, "../bin", filepath.Join(path, "bin", "up"))
	symlink(t, "nowhere", filepath.Join(path, "dangling"))
	settle(t, path)
	c := look(dir)
	expectNotes(t, c)
	if len(c.Plugins) != 1 {
		t.Errorf("found %+v", c.Plugins)
	}
}

func TestTheStampOfAFolderChangesWithAnythingInIt(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"another content": func(t *testing.T, path string) {
			write(t, filepath.Join(path, "main.py"), "print(1)\n", 0o644, time.Now().Add(-time.Hour))
		},
		"another mode":    func(t *testing.T, path string) { chmod(t, filepath.Join(path, "main.py"), 0o755) },
		"one more":        func(t *testing.T, path string) { put(t, filepath.Join(path, "bin"), ".rc") },
		"one less":        func(t *testing.T, path string) { remove(t, filepath.Join(path, "main.py")) },
		"an empty folder": func(t *testing.T, path string) { mkdir(t, filepath.Join(path, "empty")) },
		"a renamed file": func(t *testing.T, path string) {
			rename(t, filepath.Join(path, "main.py"), filepath.Join(path, "x.py"))
		},
		"a link elsewhere": func(t *testing.T, path string) { symlink(t, "main.py", filepath.Join(path, "link")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			path := putFolder(t, dir, "weather", "command: [bin/server]\n")
			before, _ := look(dir).Find("weather")
			if again, _ := look(dir).Find("weather"); !cmp.Equal(again, before) {
				t.Fatalf("%+v, then %+v, without a change", before, again)
			}
			change(t, path)
			settle(t, path)
			if after, ok := look(dir).Find("weather"); !ok || after.Stamp == before.Stamp {
				t.Errorf("stamp %q, then %q", before.Stamp, after.Stamp)
			}
		})
	}
}

func TestAFolderInWhichSomethingWasWrittenJustNowWaits(t *testing.T) {
	dir := directory(t)
	s, clock := watched(dir)
	path := putFolder(t, dir, "weather", "command: [bin/server]\n")
	before, _ := expect(t, s, "first look", "weather").Find("weather")
	write(t, filepath.Join(path, "bin", "lib"), "half", 0o644, clock.now)
	c := expect(t, s, "being written", "weather")
	if now, _ := c.Find("weather"); !cmp.Equal(now, before) || !c.unsettled {
		t.Errorf("while it is written it is %+v", now)
	}
	clock.pass(settled)
	if now, _ := expect(t, s, "settled", "weather").Find("weather"); now.Stamp == before.Stamp {
		t.Error("the new one is not seen")
	}
	// A folder that is not whole yet is not complained about.
	mkdir(t, filepath.Join(dir, "shop"))
	write(t, filepath.Join(dir, "shop", manifestName), "command: [ser", 0o644, clock.now)
	expectNotes(t, expect(t, s, "half a manifest", "weather"))
	clock.pass(settled)
	expectNotes(t, expect(t, s, "settled", "weather"), []string{"shop is left out", "plugin.yaml:1"})
}

func TestEventsComeFromWithinFolders(t *testing.T) {
	dir := directory(t)
	path := putFolder(t, dir, "weather", "command: [bin/server]\n")
	n := watch.New("", hclog.NewNullLogger())
	defer n.Stop()
	n.Watch(paths([]Directory{{Path: dir}}, look(dir).folders))
	write(t, filepath.Join(path, "bin", "server"), "new", 0o755, time.Now())
	select {
	case <-n.Events:
	case <-time.After(bound):
		t.Fatal("no event came")
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	n.Watch(paths([]Directory{{Path: dir}}, look(dir).folders))
	if diff := cmp.Diff([]string{dir}, n.Watched()); diff != "" {
		t.Errorf("watched are (-want +got):\n%s", diff)
	}
}
