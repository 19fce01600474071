// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// place makes files, executable ones where their text says what they are.
func place(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, is := strings.CutPrefix(text, "-> "); is {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// access is what the rules allow to a path, by themselves or by what holds it.
func access(rules []sandbox.Rule, path string) (best sandbox.Access) {
	for _, r := range rules {
		if r.Path == path || strings.HasPrefix(path, r.Path+"/") {
			best = max(best, r.Access)
		}
	}
	return best
}

func rules(t *testing.T, p Program) []sandbox.Rule {
	t.Helper()
	got, err := Rules(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if r.Path == "/" || !filepath.IsAbs(r.Path) || r.Access == sandbox.Write || r.Access == sandbox.Own {
			t.Errorf("%+v", r)
		}
	}
	return got
}

const none = sandbox.Access(0)

func TestWhatAProgramGetsDependsOnWhatRunsIt(t *testing.T) {
	dir := place(t, map[string]string{
		"static":             "\x7fELF no more of it",
		"beside":             "x",
		"script":             "#!/bin/sh\nexit\n",
		"env":                "#!/usr/bin/env -S DIR/venv/bin/python3 -u\n",
		"venv/bin/python3":   "-> ../../base/bin/python3",
		"venv/lib/site.py":   "x",
		"venv/pyvenv.cfg":    "x",
		"venv/secret":        "x",
		"base/bin/python3":   "\x7fELF",
		"base/bin/other":     "x",
		"base/lib/os.py":     "x",
		"base/.ssh/key":      "x",
		"folder/plugin.yaml": "x",
		"folder/run":         "#!/bin/sh\n",
		"folder/tool":        "x",
		"folder/plugin.py":   "x",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		program Program
		want    map[string]sandbox.Access
	}{
		"a static binary": {Program{Path: at("static")}, map[string]sandbox.Access{
			at("static"): sandbox.Execute, at("beside"): none, shell: none, "/usr/lib/x": none, "/usr/share/x": none, "/dev/null": sandbox.Device,
		}},
		"a script of a shell": {Program{Path: at("script")}, map[string]sandbox.Access{
			at("script"): sandbox.Execute, at("beside"): none, shell: sandbox.Execute, "/usr/bin/env": sandbox.Execute, "/usr/lib/x": sandbox.Read,
		}},
		"a script by env": {Program{Path: at("env")}, map[string]sandbox.Access{
			at("env"): sandbox.Execute, at("base/bin/python3"): sandbox.Execute, at("base/bin/other"): none, at("base/lib/os.py"): sandbox.Read,
			at("venv/lib/site.py"): sandbox.Read, at("venv/pyvenv.cfg"): sandbox.Read, at("venv/secret"): none, at("base/.ssh/key"): none, shell: none,
		}},
		"a folder with an interpreter": {
			Program{Path: at("venv/bin/python3"), Folder: at("folder")},
			map[string]sandbox.Access{
				at("folder/plugin.py"): sandbox.Read, at("folder/tool"): sandbox.Read, at("base/bin/python3"): sandbox.Execute,
				at("base/lib/os.py"): sandbox.Read, at("venv/secret"): none, shell: none,
			},
		},
		"a folder with a script": {Program{Path: at("folder/run"), Folder: at("folder")}, map[string]sandbox.Access{
			at("folder/tool"): sandbox.Execute, at("beside"): none, shell: sandbox.Execute,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rules(t, tc.program)
			for path, want := range tc.want {
				if a := access(got, path); a != want {
					t.Errorf("%s: %d, want %d", path, a, want)
				}
			}
			for _, secret := range []string{"/etc/shadow", "/root/x", "/home/x", "/tmp/x", "/run/x", "/proc/1/environ", "/var/x", "/etc/ssl/private/x"} {
				if a := access(got, secret); a != none {
					t.Errorf("%s: %d", secret, a)
				}
			}
		})
	}
}

func TestADynamicBinaryGetsItsLoaderAndLibrariesAndMayExecuteNothingElse(t *testing.T) {
	got := rules(t, Program{Path: "/bin/sleep"})
	loaders := 0
	for _, r := range got {
		if r.Access == sandbox.Execute && !strings.HasSuffix(r.Path, "/sleep") && !strings.HasSuffix(r.Path, "/busybox") {
			loaders++
			if !strings.Contains(filepath.Base(r.Path), "ld-") {
				t.Errorf("%s may be executed", r.Path)
			}
		}
	}
	if loaders > 1 {
		t.Errorf("%d loaders", loaders)
	}
}

func TestProgramsThatCannotBeSaidToRun(t *testing.T) {
	dir := place(t, map[string]string{
		"nobody": "#!\n", "absent": "#!/no/such/interpreter\n", "loop": "#!DIR/loop\n", "lost": "#!/usr/bin/env no-such-program\n",
	})
	for name, want := range map[string]string{
		"nobody": "names no interpreter", "absent": "no such file", "loop": "too many interpreters", "lost": "not found in /bin:/usr/bin", "nothing": "no such file",
	} {
		if _, err := Rules(Program{Path: filepath.Join(dir, name)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// What is executed is a stranger's.
func FuzzAnyFileHasAProfileOrAnError(f *testing.F) {
	f.Add([]byte("#!/bin/sh\n"))
	f.Add([]byte("#!/usr/bin/env python3\n"))
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	if b, err := os.ReadFile("/bin/true"); err == nil {
		f.Add(b[:min(len(b), 4096)])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, text, 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := Rules(Program{Path: path})
		if err != nil {
			return
		}
		for _, r := range got {
			if r.Path == "/" || r.Access == sandbox.Write || r.Access == sandbox.Own {
				t.Errorf("%+v", r)
			}
		}
	})
}
