// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package workshop

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// program is the source of a program that prints a text.
func program(text string) string {
	return "package main\n\nfunc main() { println(\"" + text + "\") }\n"
}

func project(t *testing.T) (source, plugins string) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-buildvcs=false")
	source, plugins = filepath.Join(t.TempDir(), "My Tool"), t.TempDir()
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(source, "go.mod"), "module example.com/x\n\ngo 1.26\n")
	write(t, filepath.Join(source, "main.go"), program("one"))
	return source, plugins
}

func TestABuildThatFailsLeavesWhatWasBuiltBefore(t *testing.T) {
	source, plugins := project(t)
	b, err := Open(source, plugins)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	build := func() (bool, error) { return b.Build(t.Context(), func() { accepted++ }) }
	says := func(want string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), filepath.Join(plugins, "my-tool")).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s, %v; want %s", out, err, want)
		}
	}
	if changed, err := build(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	says("one")
	if changed, err := build(); changed || err != nil {
		t.Errorf("the same again: %v, %v", changed, err)
	}
	write(t, filepath.Join(source, "main.go"), program("two")+"oops\n")
	var broken *BuildError
	if changed, err := build(); changed || !errors.As(err, &broken) || !strings.Contains(broken.Error(), "main.go:4") {
		t.Errorf("%v, %v", changed, err)
	}
	says("one")
	write(t, filepath.Join(source, "main.go"), program("two"))
	if changed, err := build(); !changed || err != nil {
		t.Error(changed, err)
	}
	says("two")
	if accepted != 2 {
		t.Errorf("accepted %d times", accepted)
	}
	if left, _ := filepath.Glob(filepath.Join(plugins, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestWhatHasNoSourcesIsRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	for path, want := range map[string]string{
		dir:                           "neither a Go program nor a plugin.yaml",
		filepath.Join(dir, "file"):    "not a directory",
		filepath.Join(dir, "nowhere"): "no such file",
	} {
		if _, err := Open(path, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAChangeOfTheSourcesIsTold(t *testing.T) {
	source, plugins := project(t)
	b, err := Open(source, plugins)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told, over := make(chan struct{}, 100), make(chan error, 1)
	go func() { over <- b.Watch(ctx, func() { told <- struct{}{} }) }()
	// A watch takes a moment to begin, so the change is made until it is seen.
	heard := func(path string) {
		t.Helper()
		for late := time.After(30 * time.Second); ; {
			write(t, path, program(time.Now().String()))
			select {
			case <-told:
				return
			case <-late:
				t.Fatalf("a change of %s is not told", path)
			case <-time.After(3 * quiet):
			}
		}
	}
	<-told // at once
	heard(filepath.Join(source, "main.go"))
	sub := filepath.Join(source, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	heard(filepath.Join(sub, "sub.go"))
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNamesOfFolders(t *testing.T) {
	for folder, want := range map[string]string{
		"/x/weather": "weather", "/x/My Tool!": "my-tool-", "/x/2fast": "fast", "/": "plugin", "/x/99": "plugin",
		"/x/" + strings.Repeat("a", 80): strings.Repeat("a", 63),
	} {
		if got := nameOf(folder); got != want {
			t.Errorf("%s: %s", folder, got)
		}
	}
}
