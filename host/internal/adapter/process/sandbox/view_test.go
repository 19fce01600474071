// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestInItsRootAProcessSeesWhatTheRulesLeadToAndNothingElse(t *testing.T) {
	const there = "/usr/lib /usr/lib-old /usr/lib/x /dev/null /srv /srv/shop.db /srv/state /srv/state/cache /srv/out /srv/out/in /run/home /proc/cpuinfo /secret /"
	for name, tc := range map[string]struct {
		rules  []Rule
		hidden []string
		want   string
	}{
		"nothing": {},
		"each as it may be used": {
			rules: []Rule{{Path: "/usr/lib", Access: Read}, {Path: "/srv/out", Access: Write}, {Path: "/run/home", Access: Own}, {Path: "/dev/null", Access: Device}},
			want:  "device /dev/null, writable /run/home, writable /srv/out, readOnly /usr/lib",
		},
		"what is there already is not there twice": {
			rules: []Rule{{Path: "/usr/lib", Access: Read}, {Path: "/usr/lib/x", Access: Execute}, {Path: "/usr/lib-old", Access: Read}},
			want:  "readOnly /usr/lib, readOnly /usr/lib-old",
		},
		"what may be written within what may be read": {
			rules: []Rule{{Path: "/srv/out", Access: Write}, {Path: "/srv", Access: Read}}, want: "readOnly /srv, writable /srv/out",
		},
		"what may be read within what may be written": {
			rules: []Rule{{Path: "/srv/out/in", Access: Read}, {Path: "/srv/out", Access: Write}}, want: "writable /srv/out",
		},
		"the more of two": {
			rules: []Rule{{Path: "/srv/out", Access: Read}, {Path: "/srv/out", Access: Write}, {Path: "/srv/out", Access: Read}}, want: "writable /srv/out",
		},
		"around what is not there": {
			rules:  []Rule{{Path: "/srv/shop.db", Access: Read}, {Path: "/srv/shop.db-wal", Access: Write}},
			hidden: []string{"/srv/state", "/secret"}, want: "readOnly /srv, hidden /srv/state",
		},
		"its own within what is hidden": {
			rules:  []Rule{{Path: "/srv/shop.db-wal", Access: Read}, {Path: "/srv/state/cache", Access: Own}},
			hidden: []string{"/srv/state"}, want: "readOnly /srv, hidden /srv/state, writable /srv/state/cache",
		},
		"what is hidden where nothing is": {
			rules: []Rule{{Path: "/srv/state/cache", Access: Own}}, hidden: []string{"/srv/state"}, want: "writable /srv/state/cache",
		},
		"neither processes, nor everything, nor what is nowhere": {
			rules: []Rule{{Path: "/proc/cpuinfo", Access: Read}, {Path: "/", Access: Read}, {Path: "/file", Access: Read}, {Path: "/no/such", Access: Read}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Policy{Rules: tc.rules, Hidden: tc.hidden}
			var got []string
			for _, one := range p.view(func(path string) bool { return slices.Contains(strings.Fields(there), path) }) {
				got = append(got, fmt.Sprintf("%s %s", map[kind]string{hidden: "hidden", readOnly: "readOnly", writable: "writable", device: "device"}[one.kind], one.path))
			}
			if said := strings.Join(got, ", "); said != tc.want {
				t.Errorf("%s, want %s", said, tc.want)
			}
		})
	}
}

func TestTheLinksOfANameAreAllThatItGoesThrough(t *testing.T) {
	targets := map[string]string{
		"/lib": "usr/lib", "/usr/lib/now": "../v2/./x", "/opt/app": "/lib/now", "/loop": "loop", "/up": "../../..",
	}
	for named, want := range map[string]string{
		"":                   "",
		"/usr/lib/file":      "",
		"/lib/file":          "[{/lib usr/lib}]",
		"/lib/now/file":      "[{/lib usr/lib} {/usr/lib/now ../v2/./x}]",
		"/opt/app":           "[{/opt/app /lib/now} {/lib usr/lib} {/usr/lib/now ../v2/./x}]",
		"/up/lib/x":          "[{/up ../../..} {/lib usr/lib}]",
		"/opt/../lib/../lib": "[{/lib usr/lib}]",
	} {
		got := links(named, func(path string) string { return targets[path] })
		if said := fmt.Sprint(got); said != want && (want != "" || len(got) > 0) {
			t.Errorf("%s: %s, want %s", named, said, want)
		}
	}
	if n := len(links("/loop", func(path string) string { return targets[path] })); n != maxLinks {
		t.Errorf("one that leads to itself: %d", n)
	}
}
