// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/registry"
)

var public = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestPublicNamesAreWhatEveryClientTakes(t *testing.T) {
	hash := func(full string) string {
		sum := sha256.Sum256([]byte(full))
		return "_" + hex.EncodeToString(sum[:4])
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, tc := range map[string]struct {
		prefix, declared string
		want             string
		// changed: the full name remains as the alias.
		changed bool
	}{
		"a clean name is prefix and name":         {"orders_", "get", "orders_get", false},
		"without a prefix it is the name":         {"", "get", "get", false},
		"capitals, digits, _ and - stay":          {"A-1_", "Get-2_", "A-1_Get-2_", false},
		"dots become _":                           {"orders.", "items.get", "orders_items_get", true},
		"other characters become _, one for each": {"p_", "größe/1 €", "p_gr__e_1__", true},
		"bytes that are no character too":         {"p_", "a\xffb", "p_a_b", true},
		"64 bytes are not too long":               {"p_", long(62), "p_" + long(62), false},
		"65 bytes are 55, _ and a hash":           {"p_", long(63), "p_" + long(53) + hash("p_"+long(63)), true},
		"the hash is that of the full name":       {"p.", long(63), "p_" + long(53) + hash("p."+long(63)), true},
		"128 bytes are as well":                   {"", long(128), long(55) + hash(long(128)), true},
	} {
		t.Run(name, func(t *testing.T) {
			got, alias := registry.PublicName(tc.prefix, tc.declared)
			if got != tc.want {
				t.Errorf("named %q, want %q", got, tc.want)
			}
			want := ""
			if tc.changed {
				want = tc.prefix + tc.declared
			}
			if alias != want {
				t.Errorf("alias %q, want %q", alias, want)
			}
			if !public.MatchString(got) {
				t.Errorf("%q does not match %s", got, public)
			}
		})
	}
}

func TestLongNamesThatBeginAlikeStayApart(t *testing.T) {
	common := strings.Repeat("x", 70)
	a, _ := registry.PublicName("p_", common+"a")
	b, _ := registry.PublicName("p_", common+"b")
	if a == b {
		t.Errorf("both are %s", a)
	}
}

func FuzzPublicName(f *testing.F) {
	f.Add("orders_", "get")
	f.Add("orders.", "items/get")
	f.Add("", "größe")
	f.Add("p_", strings.Repeat("x", 63))
	f.Add("\xff", "\x00")
	f.Fuzz(func(t *testing.T, prefix, declared string) {
		if prefix+declared == "" {
			t.Skip("a tool has a name")
		}
		name, alias := registry.PublicName(prefix, declared)
		if !public.MatchString(name) {
			t.Errorf("%q does not match %s", name, public)
		}
		if again, _ := registry.PublicName(prefix, declared); again != name {
			t.Errorf("%q, then %q", name, again)
		}
		switch full := prefix + declared; {
		case name == full && alias != "":
			t.Errorf("alias %q of a name that was not changed", alias)
		case name != full && alias != full:
			t.Errorf("alias %q, want %q", alias, full)
		}
		if public.MatchString(prefix+declared) && name != prefix+declared {
			t.Errorf("a good name was changed to %q", name)
		}
	})
}
