//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/lockfile"
)

// gonePID is the id of a process that has ended.
func gonePID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("/bin/true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestOnlyTheDirectoriesOfHostsThatAreNoMoreAreSwept(t *testing.T) {
	tmp := t.TempDir()
	gone, here := gonePID(t), os.Getppid()
	left := func(name string, files ...string) string {
		dir := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Join(dir, "plugin-dir1"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	aged := func(dir string) string {
		if err := os.Chtimes(dir, time.Time{}, time.Now().Add(-2*young)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	held := left(fmt.Sprintf("toolwharf-%d-1", gone), runLock) // of a host in another container
	lock, err := lockfile.Take(filepath.Join(held, runLock))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	elsewhere := left("elsewhere", runLock)
	link := filepath.Join(tmp, fmt.Sprintf("toolwharf-%d-2", gone))
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	stay := map[string]string{
		"whose lock is held":                 aged(held),
		"that is a link":                     link,
		"that a link names":                  elsewhere,
		"that is not locked yet":             left(fmt.Sprintf("toolwharf-%d-3", here), runLock),
		"that has no lock yet":               left(fmt.Sprintf("toolwharf-%d-4", gone)),
		"without a lock whose host may live": aged(left(fmt.Sprintf("toolwharf-%d-5", here))),
		"of this host":                       aged(left(fmt.Sprintf("toolwharf-%d-6", os.Getpid()), runLock)),
		"with another name":                  aged(left(fmt.Sprintf("toolwharf-%d-x", gone), runLock)),
		"with the beginning of another name": aged(left(fmt.Sprintf("xtoolwharf-%d-7", gone), runLock)),
	}
	frozen := left(fmt.Sprintf("toolwharf-%d-8", gone), runLock)
	if err := os.Chmod(filepath.Join(frozen, "plugin-dir1"), 0o500); err != nil {
		t.Fatal(err)
	}
	ends := map[string]string{
		"of a host that was killed":                  left(fmt.Sprintf("toolwharf-%d-9", gone), runLock),
		"of one whose id is somebody else's by now":  aged(left(fmt.Sprintf("toolwharf-%d-10", here), runLock)),
		"of one that was killed before it locked it": aged(left(fmt.Sprintf("toolwharf-%d-11", gone))),
		"with what cannot be written to":             frozen,
	}
	sweepRunDirs(tmp)
	for what, dir := range stay {
		if _, err := os.Lstat(dir); err != nil {
			t.Errorf("a directory %s was swept", what)
		}
	}
	for what, dir := range ends {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("a directory %s is left", what)
		}
	}
	if _, err := os.Lstat(filepath.Join(elsewhere, runLock)); err != nil {
		t.Error("what a link names was emptied")
	}
}

func TestASweepIsBounded(t *testing.T) {
	tmp, gone := t.TempDir(), gonePID(t)
	for i := range maxSwept + 5 {
		dir := filepath.Join(tmp, fmt.Sprintf("toolwharf-%d-%d", gone, i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, runLock), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sweepRunDirs(tmp)
	if left, _ := os.ReadDir(tmp); len(left) != 5 {
		t.Errorf("%d are left", len(left))
	}
	sweepRunDirs(tmp)
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("%d are left for ever", len(left))
	}
}

func TestADirectoryIsTheHostsFromItsFirstMomentToItsEnd(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := makeRunDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockfile.Take(filepath.Join(d.path, runLock)); err == nil {
		t.Error("somebody else can take its lock")
	}
	if err := d.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(d.path); err == nil {
		t.Error("it is left")
	}
}
