// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestACacheDirectoryIsPrivateKeptAndEmptiedWhenItHoldsTooMuch(t *testing.T) {
	base := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &Launcher{CacheDir: base, Log: hclog.NewNullLogger()}
	dir, err := l.cacheDir("orders", nil)
	if err != nil || dir != filepath.Join(base, "orders") {
		t.Fatalf("%s, %v", dir, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Symlink(filepath.Dir(elsewhere), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	put := func(name string, size int64) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(what string, want int) {
		t.Helper()
		if _, err := l.cacheDir("orders", nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != want {
			t.Errorf("%s: it holds %v, %v", what, entries, err)
		}
		if _, err := os.Stat(elsewhere); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	put("a/b", MaxCache) // sparse
	holds("as much as it may", 2)
	put("a/c", 1)
	holds("more", 0)
	for i := range maxCacheFiles {
		put(fmt.Sprint(i), 0)
	}
	holds("too many", 0)
	if dir, err := (&Launcher{}).cacheDir("orders", nil); dir != "" || err != nil {
		t.Errorf("none: %q, %v", dir, err)
	}
}
