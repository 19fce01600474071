// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Programs under test, built once.
var (
	built     string // their directory
	toolwharf string
)

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

// builtBefore is where the programs lie, for a test that runs itself as another
// user.
const builtBefore = "E2E_BUILT"

func buildAndRun(m *testing.M) int {
	if dir := os.Getenv(builtBefore); dir != "" {
		built, toolwharf = dir, filepath.Join(dir, "bin", "toolwharf")
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built, toolwharf = dir, filepath.Join(dir, "bin", "toolwharf")
	type build struct {
		module, out string
		args        []string
	}
	builds := []build{
		{"..", "bin/", hostBuild("./cmd/toolwharf")},
		{"..", "examples/", []string{"./e2e/mischief"}},
		{"../../examples", "examples/", []string{"./echo", "./fixtures", "./hello", "./scanner", "./tides"}},
	}
	plugins, err := filepath.Glob("../../plugins/*/go.mod")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, file := range plugins {
		builds = append(builds, build{filepath.Dir(file), "bin/plugins/", []string{"."}})
	}
	for _, b := range builds {
		args := append([]string{"build", "-C", b.module, "-o", filepath.Join(dir, b.out) + "/"}, b.args...)
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go %v: %v\n%s", args, err, out)
			return 1
		}
	}
	if err := os.Setenv("GORACE", raceOptions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := sideBySide(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// sideBySide lets more tests run at once than there are processors, unless
// -parallel says how many: most of the time they wait for processes and pauses.
// Those that measure what a host takes, or load the machine, are not parallel and
// so have it for themselves: TestUnderStress....
func sideBySide() error {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return nil
	}
	return flag.Set("test.parallel", "6")
}

// raceOptions are for every process that is started here: a race ends it, and it
// does not linger for a second before it exits, as it would to see what races with
// its end.
const raceOptions = "halt_on_error=1 atexit_sleep_ms=0"

// hostBuild builds the host with the race detector, if the test has it.
func hostBuild(pkg string) []string {
	if raceEnabled {
		return []string{"-race", pkg}
	}
	return []string{pkg}
}

// install copies a built plugin into a directory, as users do.
func install(t *testing.T, plugin, dir string) string {
	t.Helper()
	from := filepath.Join(built, "examples", plugin)
	if plugin == "sql" {
		from = filepath.Join(built, "bin", "plugins", plugin)
	}
	to := filepath.Join(dir, plugin)
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	return to
}

// empty makes an empty file: a plugin that may write it cannot make it.
func empty(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wrapped installs a folder whose program is a script: "${0%/*}/PLUGIN" is the built
// plugin beside it. In its sandbox, a script may start what is in its folder and
// what the system has, and nothing else.
func wrapped(t *testing.T, dir, name, plugin, text string) (folder string) {
	t.Helper()
	made := filepath.Join(dir, "."+name) // not looked at until it is whole
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	install(t, plugin, made)
	script(t, made, "run", text)
	if err := os.WriteFile(filepath.Join(made, "plugin.yaml"), []byte("command: [./run]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(dir, name)
	if err := os.Rename(made, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// script writes an executable shell script as a plugin. No process is started
// meanwhile: one that still had the file open for writing would keep it from being
// executed.
func script(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
