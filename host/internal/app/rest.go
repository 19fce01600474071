// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"runtime/metrics"
	"time"
)

const (
	// restEvery is how often it is looked whether the host is at rest.
	restEvery = 500 * time.Millisecond
	// restBelow is what a host at rest allocates at most in that time, in bytes:
	// some calls may go on.
	restBelow = 1 << 20
	// restWorth is how much must have been allocated since for it to be worth a
	// collection, some milliseconds of a processor.
	restWorth = 4 << 20
)

// rest gives memory back whenever the host comes to rest, until ctx ends. A
// runtime that is told to collect seldom (see tune) otherwise keeps what the
// start, or a burst of calls, has left behind: for minutes, and for good what
// never comes to a collection.
func rest(ctx context.Context, allocated func() uint64, giveBack func()) {
	var given, last uint64
	for looks := time.NewTicker(restEvery); ; {
		select {
		case <-looks.C:
		case <-ctx.Done():
			looks.Stop()
			return
		}
		now := allocated()
		if now-last < restBelow && now-given > restWorth {
			giveBack()
			given = now
		}
		last = now
	}
}

// allocated is how many bytes of memory this process has asked for, ever.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
