// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestWhatWasAskedForIsRememberedAlsoByTheNextHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	asked := []adapter.Grant{{Kind: adapter.GrantRead, Value: "/x"}}
	a, b := tool.DigestOf([]byte("a")), tool.DigestOf([]byte("b"))
	first, inMemory := &Memory{File: file}, &Memory{}
	for _, m := range []*Memory{first, inMemory} {
		if _, known := m.Asked(a); known {
			t.Error("it knows before it was told")
		}
		for _, key := range []tool.Digest{a, b} {
			if err := m.Remember(key, asked); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, m := range map[string]*Memory{"the same": first, "the next": {File: file}, "without a file": inMemory} {
		for _, key := range []tool.Digest{a, b} {
			if got, known := m.Asked(key); !known || len(got) != 1 || got[0] != asked[0] {
				t.Errorf("%s: %v %v", name, got, known)
			}
		}
		if _, known := m.Asked(tool.DigestOf([]byte("c"))); known {
			t.Errorf("%s knows what it was never told", name)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestABrokenMemoryIsAnEmptyOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	for _, text := range []string{"", "nonsense", "null", "[]", `{"x":5}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := &Memory{File: file}
		key := tool.DigestOf([]byte("a"))
		if _, known := m.Asked(key); known {
			t.Errorf("%q is known", text)
		}
		if err := m.Remember(key, nil); err != nil {
			t.Error(err)
		}
		if _, known := (&Memory{File: file}).Asked(key); !known {
			t.Errorf("nothing is remembered after %q", text)
		}
	}
}

func TestAMemoryIsBounded(t *testing.T) {
	m := &Memory{}
	for i := range maxRemembered + 10 {
		if err := m.Remember(tool.DigestOf([]byte{byte(i), byte(i >> 8)}), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.known) != maxRemembered {
		t.Error(len(m.known))
	}
}
