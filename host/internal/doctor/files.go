// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

// How many files a host may have open at once: connections of clients, and some
// ten for each adapter and the store.
const (
	fewFiles    = 256
	enoughFiles = 4096 + 1024
)

// OpenFiles looks how many files this process may have open.
func OpenFiles() Check {
	const name, do = "open files", "raise it (ulimit -Hn, LimitNOFILE= of systemd) to 8192 or more"
	limit, known := filesLimit()
	switch {
	case !known:
		return Passed(name, "this system has no limit that could be told")
	case limit < fewFiles:
		return Failed(name, do, "at most %d, with which a host does not get far", limit)
	case limit < enoughFiles:
		return Warned(name, do, "at most %d; with many clients at once, connections are refused", limit)
	default:
		return Passed(name, "at most %d", limit)
	}
}
