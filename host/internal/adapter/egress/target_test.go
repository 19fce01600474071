// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"strings"
	"testing"
)

func TestTargetsHaveOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"db.example:5432":                      "db.example:5432",
		"DB.Example.:5432":                     "db.example:5432",
		"bücher.example:443":                   "xn--bcher-kva.example:443",
		"BÜCHER.example.:443":                  "xn--bcher-kva.example:443",
		"XN--BCHER-KVA.example:443":            "xn--bcher-kva.example:443",
		"my_db:1":                              "my_db:1",
		"4.example:0080":                       "4.example:80",
		"192.0.2.1:65535":                      "192.0.2.1:65535",
		"[2001:DB8:0:0::1]:1":                  "[2001:db8::1]:1",
		"[::ffff:192.0.2.1]:1":                 "192.0.2.1:1",
		"[::FFFF:C000:201]:1":                  "192.0.2.1:1",
		strings.Repeat("a", 63) + ".example:1": strings.Repeat("a", 63) + ".example:1",
	} {
		got, err := parseTarget(in)
		if err != nil || got.String() != want {
			t.Errorf("%q: %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestWhatIsNoTarget(t *testing.T) {
	for _, in := range []string{
		"", ":", ":1", "a", "a:", "a:0", "a:65536", "a:+1", "a:-1", "a:1_0", "a:0x1", "a:https", "a: 1", "a:1:2", "*:1", "a:*", "*.example:1",
		"2001:db8::1:1", "[2001:db8::1]", "[192.0.2.1]:1", "[a]:1", "[fe80::1%eth0]:1", "[::1%25lo]:1",
		".:1", ".a:1", "a..b:1", "a..:1", "-a:1", "a-:1", "a b:1", "a@b:1", "a/b:1", "a%41:1", "a\\b:1", "user:pass@a:1", "https://a:1",
		// Addresses to some resolvers.
		"127.1:1", "2130706433:1", "0x7f000001:1", "0x7f.1:1", "017700000001:1", "127.0.0.1.:1", "127.0.0.01:1", "1.2.3.4.5:1", "a.0x7f:1", "0x:1",
		"127。0。0。1:1", "１２７.0.0.1:1",
		strings.Repeat("a", 64) + ":1", strings.Repeat("a.", 127) + "a:1", "\xff:1", "a\x00:1",
	} {
		if got, err := parseTarget(in); err == nil {
			t.Errorf("%q is %s", in, got)
		}
	}
}

func TestGrantsThatNobodyMayHaveAreRefusedAtOnce(t *testing.T) {
	for grant, want := range map[string]string{
		"db.example":              "not host:port",
		"169.254.169.254:80":      "link-local",
		"[::ffff:a9fe:a9fe]:80":   "link-local",
		"[64:ff9b::a9fe:a9fe]:80": "link-local",
		"[fd00:ec2::254]:80":      "credentials",
		"0.0.0.0:80":              "unspecified",
		"[::]:80":                 "unspecified",
		"255.255.255.255:9":       "broadcast",
	} {
		_, err := parseGrants([]string{"db.example:1", grant})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), grant) {
			t.Errorf("%s: %v", grant, err)
		}
	}
	if g, err := parseGrants(nil); err != nil || len(g) != 0 {
		t.Errorf("%v, %v", g, err)
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"a.example:1", "[::ffff:1.2.3.4]:1", "bücher.example:443", "127.1:1", "[::1%lo]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseTarget(s)
		if err != nil {
			return
		}
		if (got.name == "") != got.addr.IsValid() || got.port == 0 {
			t.Errorf("%q: %#v", s, got)
		}
		if again, err := parseTarget(got.String()); err != nil || again != got {
			t.Errorf("%q: %s becomes %s, %v", s, got, again, err)
		}
	})
}
