// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"runtime"
	"runtime/debug"
)

// Measured: the MCP SDK allocates a 32 KiB buffer for every value that it
// decodes, some 470 KB for one small call, while little stays alive. Collecting
// four times less often doubles the calls per second; the limit keeps a burst
// from taking the machine's memory.
const (
	gcPercent   = 400
	memoryLimit = 256 << 20
)

// tune steers the garbage collector, unless the operator does. What reading the
// configuration has left behind is collected before that: what comes to stay then
// lies between what stays, and not between holes.
func tune() {
	runtime.GC()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
