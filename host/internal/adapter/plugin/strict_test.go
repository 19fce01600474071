// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

func TestAStrictSandboxIsNeverLessThanAllOfIt(t *testing.T) {
	for name, tc := range map[string]struct {
		support sandbox.Support
		none    bool
		want    string
	}{
		"everything":            {support: sandbox.Support{Landlock: 7, Seccomp: true}},
		"an older Landlock":     {support: sandbox.Support{Landlock: 3, Seccomp: true}, want: "signals to other processes (this kernel has landlock 3, it takes 6)"},
		"no seccomp":            {support: sandbox.Support{Landlock: 7, WhyNoSeccomp: "the container forbids it"}, want: "system calls and sockets (seccomp: the container forbids it)"},
		"no sandbox of plugins": {none: true, want: "this system has no sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Launcher{Confinement: &Confinement{Support: tc.support}}
			if tc.none {
				l.Confinement = nil
			}
			_, confined := l.confined(&adapter.Desired{Sandbox: adapter.Sandbox{Strict: true}})
			why := l.lax(confined && sandbox.Here)
			if !sandbox.Here {
				tc.want = "this system has no sandbox"
			}
			if (why == "") != (tc.want == "") || !strings.Contains(why, tc.want) {
				t.Errorf("%q, want %q", why, tc.want)
			}
			if why != "" && !strings.Contains(why, "; use sandbox: auto") {
				t.Errorf("it does not say what to do: %q", why)
			}
		})
	}
}
