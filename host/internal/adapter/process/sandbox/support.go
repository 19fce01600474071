// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import "fmt"

// Support is what a kernel, and what surrounds this process, gives.
type Support struct {
	// Landlock is the version of its interface; 0: none.
	Landlock      int
	WhyNoLandlock string
	Seccomp       bool
	WhyNoSeccomp  string
}

// Whole reports whether everything is held that this package can hold of a process
// that may not connect.
func (s Support) Whole() bool { return len(For(s, nil).Missing(s)) == 0 }

// Untried is what of this kernel's Landlock is not used, since it could not be tried
// out; "": nothing.
func (s Support) Untried() string {
	if s.Landlock <= newest {
		return ""
	}
	return fmt.Sprintf("of this kernel's landlock %d, %d is used: newer ones were not tried out", s.Landlock, newest)
}
