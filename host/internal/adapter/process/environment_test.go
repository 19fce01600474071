// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheEnvironmentIsTheHandshakeTheBoundsAndTheAdaptersOwn(t *testing.T) {
	handshake := []string{"TOOLWHARF_PLUGIN=x", "PLUGIN_CLIENT_CERT=y"}
	for name, tc := range map[string]struct {
		own    map[string]string
		memory int64
		want   []string
	}{
		"nothing of its own": {
			nil, 0,
			[]string{"TOOLWHARF_PLUGIN=x", "PLUGIN_CLIENT_CERT=y", "GOMAXPROCS=1", "GOMEMLIMIT=256MiB"},
		},
		"sorted, values as they are": {
			map[string]string{"TZ": "Europe/Berlin", "HOME": "/srv/a b=c", "EMPTY": ""},
			0,
			[]string{
				"TOOLWHARF_PLUGIN=x", "PLUGIN_CLIENT_CERT=y", "GOMAXPROCS=1", "GOMEMLIMIT=256MiB",
				"EMPTY=", "HOME=/srv/a b=c", "TZ=Europe/Berlin",
			},
		},
		"limited memory": {
			nil, 100 << 20,
			[]string{"TOOLWHARF_PLUGIN=x", "PLUGIN_CLIENT_CERT=y", "GOMAXPROCS=1", "GOMEMLIMIT=94371840"},
		},
		"its own bounds": {
			map[string]string{"GOMAXPROCS": "4", "GOMEMLIMIT": "1GiB"},
			64 << 20,
			[]string{"TOOLWHARF_PLUGIN=x", "PLUGIN_CLIENT_CERT=y", "GOMAXPROCS=4", "GOMEMLIMIT=1GiB"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Environment(handshake, tc.own, tc.memory)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if len(handshake) != 2 {
		t.Error("the handshake's slice was changed")
	}
}

func TestAnAdapterMaySetNothingThatChangesWhatIsExecuted(t *testing.T) {
	for _, name := range []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "ld_preload", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP", "PYTHON",
		"NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "PLUGIN_X", "PLUGIN_CLIENT_CERT", "PLUGIN_UNIX_SOCKET_DIR", "TOOLWHARF_X", "TOOLWHARF_PLUGIN", "Toolwharf_Plugin",
	} {
		_, err := Environment(nil, map[string]string{name: "x"}, 0)
		if err == nil || !strings.Contains(err.Error(), "env: "+name+" may not be set") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"PATH", "HOME", "LDAP_URL", "MY_PYTHONPATH", "NODE_ENV", "JAVA_HOME", "PLUGINS", "GODEBUG"} {
		if _, err := Environment(nil, map[string]string{name: "x"}, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatCannotBeAVariableIsRefusedWithoutItsValue(t *testing.T) {
	for _, own := range []map[string]string{
		{"": "hunter2"}, {"A=B": "hunter2"}, {"A\x00B": "hunter2"}, {"A": "hunter2\x00"},
	} {
		_, err := Environment(nil, own, 0)
		if err == nil || !strings.Contains(err.Error(), "cannot be a variable") {
			t.Errorf("%q: %v", own, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the value is told: %v", err)
		}
	}
}
