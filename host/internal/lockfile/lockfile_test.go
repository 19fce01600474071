// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// role is the variable that makes the test binary a process that holds a lock.
const role = "LOCKFILE_TEST_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(role); path != "" {
		_, err := Take(path)
		fmt.Println(err)
		select {}
	}
	os.Exit(m.Run())
}

func TestALockHasOneHolderUntilItLetsGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path); !errors.Is(err, ErrHeld) {
		t.Errorf("a second holder: %v", err)
	}
	l.Release()
	if l, err = Take(path); err != nil {
		t.Fatal(err)
	}
	l.Release()
}

func TestTheLockOfAProcessThatIsKilledIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(self)
	holder.Env = append(os.Environ(), role+"="+path)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := Take(path); !errors.Is(err, ErrHeld) {
		t.Errorf("while it lives: %v", err)
	}
	_ = holder.Process.Kill()
	_ = holder.Wait()
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
}

func TestALinkIsNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	dir := t.TempDir()
	path, target := filepath.Join(dir, "lock"), filepath.Join(dir, "target")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path); err == nil {
		t.Error("it was taken")
	}
	if _, err := os.Lstat(target); !errors.Is(err, os.ErrNotExist) {
		t.Error("what the link names was made")
	}
}
