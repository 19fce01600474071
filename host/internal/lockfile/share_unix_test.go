//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestASharedLockHasAnyNumberOfHoldersOfOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	share := func(key string) *Lock {
		t.Helper()
		l, err := Share(path, key)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one, two := share("a"), share("a")
	for _, key := range []string{"b", "", "aa"} {
		if _, err := Share(path, key); !errors.Is(err, ErrHeld) {
			t.Errorf("the key %q: %v", key, err)
		}
	}
	if _, err := Take(path); !errors.Is(err, ErrHeld) {
		t.Errorf("one for itself: %v", err)
	}
	one.Release()
	if _, err := Share(path, "b"); !errors.Is(err, ErrHeld) {
		t.Errorf("while one of two holds it: %v", err)
	}
	two.Release()
	share("b").Release()
}
