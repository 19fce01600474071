// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackOnceTheHostIsAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var total atomic.Uint64
		var given atomic.Int64
		go rest(ctx, total.Load, func() { given.Add(1) })
		// half takes half of the time between two looks, in which it allocates.
		half := func(bytes uint64) {
			total.Add(bytes)
			time.Sleep(restEvery / 2)
			synctest.Wait()
		}
		want := func(times int64, when string) {
			t.Helper()
			if got := given.Load(); got != times {
				t.Errorf("%s: given back %d times, want %d", when, got, times)
			}
		}
		for range 8 {
			half(restBelow)
		}
		want(0, "at work")
		for range 8 {
			half(restBelow / 8)
		}
		want(1, "after work, although some calls go on")
		for range 8 {
			half(0)
		}
		want(1, "with nothing to give")
		half(2 * restWorth)
		for range 4 {
			half(0)
		}
		want(2, "after a burst")
	})
}
