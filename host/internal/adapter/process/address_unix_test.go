//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// socketDir is short: a socket's path has at most some 100 bytes.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tw-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}

func TestAPluginServesOnASocketInItsOwnDirectoryAndNowhereElse(t *testing.T) {
	dir, other := socketDir(t), socketDir(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	listen(t, in("plugin.sock"))
	listen(t, filepath.Join(other, "plugin.sock"))
	if err := os.Mkdir(in("sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	listen(t, in("sub/plugin.sock"))
	if err := os.WriteFile(in("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": in("plugin.sock"), "out": filepath.Join(other, "plugin.sock")} {
		if err := os.Symlink(target, in(name)); err != nil {
			t.Fatal(err)
		}
	}
	const mustBeThere = "a socket in the directory that PLUGIN_UNIX_SOCKET_DIR names"
	for name, tc := range map[string]struct {
		network, address string
		reason           string // empty: accepted
	}{
		"its socket":                       {"unix", in("plugin.sock"), ""},
		"a socket of another directory":    {"unix", filepath.Join(other, "plugin.sock"), mustBeThere},
		"a socket of a directory below":    {"unix", in("sub/plugin.sock"), mustBeThere},
		"a way out by ..":                  {"unix", dir + "/../" + filepath.Base(other) + "/plugin.sock", mustBeThere},
		"a way round by ..":                {"unix", dir + "/sub/../plugin.sock", mustBeThere},
		"an unclean path":                  {"unix", dir + "//plugin.sock", mustBeThere},
		"a relative path":                  {"unix", "plugin.sock", mustBeThere},
		"no path":                          {"unix", "", mustBeThere},
		"an abstract socket":               {"unix", "@plugin", mustBeThere},
		"the directory":                    {"unix", dir, mustBeThere},
		"a link to its socket":             {"unix", in("link"), "not a socket"},
		"a link to somebody else's socket": {"unix", in("out"), "not a socket"},
		"a file":                           {"unix", in("file"), "not a socket"},
		"a directory in it":                {"unix", in("sub"), "not a socket"},
		"nothing":                          {"unix", in("nothing"), "there is no such socket"},
		"a port":                           {"tcp", "127.0.0.1:8080", "only a unix socket"},
		"a port of all interfaces":         {"tcp", "0.0.0.0:8080", "only a unix socket"},
		"another kind of socket":           {"unixgram", in("plugin.sock"), "only a unix socket"},
		"no network":                       {"", in("plugin.sock"), "only a unix socket"},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(Spec{Path: "/bin/true", SocketDir: dir + "/"})
			network, address, err := p.PluginToHost(tc.network, tc.address)
			if tc.reason == "" {
				if err != nil || network != tc.network || address != tc.address {
					t.Errorf("%s %s, %v", network, address, err)
				}
				return
			}
			var e *AddressError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tc.reason) || network+address != "" {
				t.Errorf("%s %s, %v", network, address, err)
			}
			if e != nil && (e.Network != tc.network || e.Address != tc.address) {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestAddressesOfTheHostAreLeftAsTheyAre(t *testing.T) {
	n, a, err := New(Spec{}).HostToPlugin("unix", "/run/x")
	if n != "unix" || a != "/run/x" || err != nil {
		t.Errorf("%s %s %v", n, a, err)
	}
}

func TestNobodyIsDialledOnceTheProcessHasEnded(t *testing.T) {
	dir := socketDir(t)
	path := filepath.Join(dir, "plugin.sock")
	listen(t, path)
	r := start(t, Spec{Path: "/bin/true", SocketDir: dir})
	if _, _, err := r.PluginToHost("unix", path); err != nil {
		t.Fatal(err)
	}
	r.ends(t)
	if conn, err := r.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("dialled %v, %v", conn, err)
	}
}
