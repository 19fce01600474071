// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"
)

func TestOfANewerKernelOnlyWhatWasTriedOutIsUsedAndThatIsSaid(t *testing.T) {
	for landlock, want := range map[int]string{0: "", 1: "", 7: "", 8: "of this kernel's landlock 8, 7 is used: newer ones were not tried out"} {
		if said := (Support{Landlock: landlock}).Untried(); said != want {
			t.Errorf("%d: %q, want %q", landlock, said, want)
		}
	}
}

func TestWhatIsNotHeldIsNamedWithItsReason(t *testing.T) {
	const kernel, container = "this kernel does not know it", "the container forbids it"
	for name, tc := range map[string]struct {
		support Support
		ports   []uint16
		names   bool
		is      string
		missing []string
	}{
		"everything": {support: Support{Landlock: 7, Seccomp: true}, is: "landlock 7, seccomp, no new privileges, no capabilities, limits"},
		"a kernel that is newer than this program": {
			support: Support{Landlock: 99, Seccomp: true}, is: "landlock 7, seccomp, no new privileges, no capabilities, limits",
		},
		"no landlock": {
			support: Support{WhyNoLandlock: kernel, Seccomp: true}, is: "seccomp, no new privileges, no capabilities, limits",
			missing: []string{"files, signals and the memory of other processes (landlock: " + kernel + ")"},
		},
		"nothing": {
			support: Support{WhyNoLandlock: kernel, WhyNoSeccomp: container}, is: "no new privileges, no capabilities, limits",
			missing: []string{"files, signals and the memory", "system calls and sockets (seccomp: " + container + ")"},
		},
		"the first landlock": {
			support: Support{Landlock: 1, Seccomp: true}, is: "landlock 1, seccomp, no new privileges, no capabilities, limits",
			missing: []string{"cutting files off", "signals to other processes (this kernel has landlock 1, it takes 6)"},
		},
		"one without scopes": {
			support: Support{Landlock: 5, Seccomp: true}, is: "landlock 5, seccomp, no new privileges, no capabilities, limits",
			missing: []string{"signals to other processes"},
		},
		"an address, of today": {
			support: Support{Landlock: 7, Seccomp: true}, ports: []uint16{5432}, is: "landlock 7, seccomp, no new privileges, no capabilities, limits",
			missing: []string{"the hosts that it connects to", "unix sockets that its user may open"},
		},
		"a name, of tomorrow": {
			support: Support{Landlock: 9, Seccomp: true}, ports: []uint16{5432}, names: true,
			is: "landlock 7, seccomp, no new privileges, no capabilities, limits",
			missing: []string{
				"the hosts that it connects to", "UDP", "unix sockets that its user may open (it takes landlock 9, of which at most 7 is used)",
			},
		},
		"a name, of yesterday": {
			support: Support{Landlock: 3, Seccomp: true}, ports: []uint16{5432}, names: true,
			is:      "landlock 3, seccomp, no new privileges, no capabilities, limits",
			missing: []string{"signals", "the ports that it connects to", "abstract unix sockets", "the hosts", "UDP", "unix sockets"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := For(tc.support, nil)
			p.Ports, p.Names = tc.ports, tc.names
			if p.String() != tc.is {
				t.Errorf("%s, want %s", p, tc.is)
			}
			missing := p.Missing(tc.support)
			if len(missing) != len(tc.missing) {
				t.Fatalf("%q, want %q", missing, tc.missing)
			}
			for i, want := range tc.missing {
				if !strings.HasPrefix(missing[i], want) {
					t.Errorf("%q, want %q", missing[i], want)
				}
			}
			if whole := tc.support.Whole(); tc.ports == nil && whole != (len(tc.missing) == 0) {
				t.Errorf("whole: %v", whole)
			}
		})
	}
}
