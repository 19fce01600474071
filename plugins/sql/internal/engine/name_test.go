// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

func TestANameIsATupleOfItsParts(t *testing.T) {
	for in, want := range map[string]Name{
		"orders":           {"", "orders"},
		"audit.log":        {"audit", "log"},
		`"audit.log"`:      {"", "audit.log"},
		`audit."a.b"`:      {"audit", "a.b"},
		`"a""b"."c"`:       {`a"b`, "c"},
		"we;ird -- name":   {"", "we;ird -- name"},
		`"Orders"`:         {"", "Orders"},
		`public."x""y.z".`: {},
		"a.b.c":            {},
		"":                 {},
		".a":               {},
		"a.":               {},
		`"a`:               {},
		`"a"b`:             {},
		`a"b`:              {},
		`""`:               {},
	} {
		got, err := ParseName(in)
		if (err != nil) != (want == Name{}) || got != want {
			t.Errorf("%q: %#v, %v", in, got, err)
		}
		if err != nil {
			continue
		}
		if again, err := ParseName(got.String()); err != nil || again != got {
			t.Errorf("%q reads back as %#v, %v", got.String(), again, err)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add(`public."x""y.z"`)
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		if again, err := ParseName(n.String()); err != nil || again != n {
			t.Errorf("%q is %#v and reads back as %#v, %v", s, n, again, err)
		}
	})
}
