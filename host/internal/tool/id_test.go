// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestANewIDIsAnIDOfItsPrefix(t *testing.T) {
	seen := map[string]bool{}
	prefixes := []string{tool.PrefixCall, tool.PrefixRun, tool.PrefixApproval, tool.PrefixTask}
	for range 1_000 {
		for _, prefix := range prefixes {
			id := tool.NewID(prefix)
			if seen[id] {
				t.Fatalf("%s twice", id)
			}
			seen[id] = true
			for _, other := range prefixes {
				if got := tool.IsID(other, id); got != (other == prefix) {
					t.Fatalf("IsID(%s, %s) is %v", other, id, got)
				}
			}
		}
	}
}

func TestIsID(t *testing.T) {
	const good = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for name, tc := range map[string]struct {
		id   string
		want bool
	}{
		"letters":                 {"run_" + good, true},
		"digits of base32":        {"run_" + "234567" + good[:20], true},
		"nothing":                 {"", false},
		"the prefix alone":        {"run_", false},
		"no prefix":               {good, false},
		"too short":               {"run_" + good[:25], false},
		"too long":                {"run_" + good + "A", false},
		"small letters":           {"run_" + strings.ToLower(good), false},
		"0, which base32 has not": {"run_0" + good[:25], false},
		"1, which base32 has not": {"run_1" + good[:25], false},
		"8, which base32 has not": {"run_8" + good[:25], false},
		"padding":                 {"run_" + good[:25] + "=", false},
		"a line break":            {"run_" + good[:25] + "\n", false},
		"a letter of two bytes":   {"run_" + good[:24] + "é", false},
		"a path":                  {"run_../" + good[:23], false},
	} {
		if got := tool.IsID(tool.PrefixRun, tc.id); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestAScopedIDDependsOnEverything(t *testing.T) {
	alice := tool.Principal{Kind: tool.Token, ClientID: "c", Issuer: "i", Subject: "alice"}
	base := tool.ScopedID(tool.PrefixRun, alice, "key")
	if !tool.IsID(tool.PrefixRun, base) {
		t.Errorf("%s is no id", base)
	}
	if again := tool.ScopedID(tool.PrefixRun, alice, "key"); again != base {
		t.Errorf("%s, then %s", base, again)
	}
	bob := alice
	bob.Subject = "bob"
	rest := strings.TrimPrefix(base, tool.PrefixRun)
	for name, other := range map[string]string{
		"another principal":         tool.ScopedID(tool.PrefixRun, bob, "key"),
		"another kind of principal": tool.ScopedID(tool.PrefixRun, tool.Principal{Kind: tool.Stdio, Subject: "alice"}, "key"),
		"nobody":                    tool.ScopedID(tool.PrefixRun, tool.Principal{}, "key"),
		"another key":               tool.ScopedID(tool.PrefixRun, alice, "Key"),
		"no key":                    tool.ScopedID(tool.PrefixRun, alice, ""),
		"another prefix":            tool.ScopedID(tool.PrefixCall, alice, "key"),
	} {
		if strings.HasSuffix(other, rest) {
			t.Errorf("%s: the same id", name)
		}
	}
}

func TestTwoPrincipalsNeverShareAScopedID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := principal(t), principal(t)
		a, b := rapid.String().Draw(t, "key"), rapid.String().Draw(t, "other key")
		same := p.Is(q) && a == b
		if got := tool.ScopedID("run_", p, a) == tool.ScopedID("run_", q, b); got != same {
			t.Fatalf("%#v with %q and %#v with %q: the same id: %v", p, a, q, b, got)
		}
	})
}

func TestDigests(t *testing.T) {
	var none tool.Digest
	if !none.IsZero() || tool.DigestOf(nil).IsZero() {
		t.Error("only a digest that was never set is zero")
	}
	if got := tool.DigestOf(nil).String(); got != "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("got %s", got)
	}
}
