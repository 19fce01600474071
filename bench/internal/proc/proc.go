// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package proc

import "time"

// Process is one process, told apart from a later one of the same id by when it
// started.
type Process struct {
	PID   int
	start uint64 // clock ticks since boot
}

// Usage is what a set of processes has used.
type Usage struct {
	CPU time.Duration // user and system, in steps of 10 ms
	RSS int64         // bytes; pages that processes share are counted in each
}
