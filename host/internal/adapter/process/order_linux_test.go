// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/profile"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

func init() {
	roles["who am I"] = func() {
		path, err := os.Executable()
		fmt.Println(os.Args[0], path, err)
	}
}

// What a limit of processes can hold, and what it cannot: that is what is said of it.
func TestOfMemoryEachProcessHasSoMuchThatItDoesNotShare(t *testing.T) {
	// A program of its own: the race detector takes more memory than there is to be.
	hoard := filepath.Join(t.TempDir(), "hoard")
	build := exec.Command("go", "build", "-o", hoard, "./testdata/hoard")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for name, tc := range map[string]struct {
		memory   int64
		kind     string
		megs     int
		wantFail bool
	}{
		"within the limit":      {256 << 20, "private", 100, false},
		"beyond it":             {256 << 20, "private", 300, true},
		"beyond it, and shared": {256 << 20, "shared", 300, false},
		"without a limit":       {0, "private", 300, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, Spec{Path: hoard, Memory: tc.memory, Env: []string{
				"GOMAXPROCS=1", "KIND=" + tc.kind, fmt.Sprintf("MIB=%d", tc.megs), fmt.Sprintf("LIMIT=%d", tc.memory),
			}})
			said := r.line(t)
			if failed := said == "cannot allocate memory"; failed != tc.wantFail || !failed && said != "<nil>" {
				t.Error(said)
			}
		})
	}
}

func hashed(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func TestWhatIsExecutedIsWhatWasHashed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err = filepath.EvalSymlinks(self)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a program, which knows its path", func(t *testing.T) {
		rules, err := profile.Rules(profile.Program{Path: self})
		if err != nil {
			t.Fatal(err)
		}
		for name, policy := range map[string]*sandbox.Policy{"free": nil, "confined": sandbox.For(sandbox.Probe(), rules)} {
			r := start(t, Spec{Path: self, Program: hashed(t, self), Sandbox: policy, Env: []string{mode + "=who am I"}})
			if got, want := r.line(t), self+" "+self+" <nil>"; got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	})
	t.Run("a program of another user", func(t *testing.T) {
		s := newStage(t)
		r := start(t, Spec{
			Path: s.self, Program: hashed(t, s.self), Sandbox: &sandbox.Policy{User: account.First}, Env: []string{mode + "=who am I"}, Dir: "/",
		})
		if got, want := r.line(t), s.self+" "+s.self+" <nil>"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("a script", func(t *testing.T) {
		path := script(t, `echo "$0"`)
		r := start(t, Spec{Path: path, Program: hashed(t, path), Env: []string{"PATH=/bin"}})
		if got := r.line(t); got != path {
			t.Error(got)
		}
	})
	for name, spoil := range map[string]func(path string) error{
		"it was changed": func(path string) error { return os.WriteFile(path, []byte("#!/bin/sh\necho another\n"), 0o700) },
		"another was put in its place": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("#!/bin/sh\necho another\n"), 0o700), os.Rename(path+".new", path))
		},
		"a link was put in its place": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Symlink(path+".old", path))
		},
		"it was removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path := script(t, "echo one")
			spec := Spec{Path: path, Program: hashed(t, path)}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			err := New(spec).Start(t.Context())
			if _, refused := errors.AsType[*ConfinementError](err); !refused || !strings.Contains(err.Error(), path) {
				t.Fatal(err)
			}
			if name == "it was changed" && !strings.Contains(err.Error(), "is not what was pinned: its SHA-256 is "+hashed(t, path)+" and was "+spec.Program) {
				t.Error(err)
			}
		})
	}
}
