// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

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
