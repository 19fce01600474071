// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"

	"github.com/toolwharf/toolwharf/host/internal/store"
)

var queueing = []test{
	{"what queues during a transaction is the next one", func(t trial) {
		release := t.block()
		names := numbered("call", 100)
		wait := together(names, func(name string) error { return t.Store.End(t.Context(), record(name)) })
		until(t, "all have queued", func() bool { return t.Store.Health().Queued == len(names) })
		release()
		must(t, errors.Join(wait()...))
		if h := t.Store.Health(); h.Rows != 100 || h.Commits > 2 || h.Queued != 0 {
			t.Errorf("health %+v", h)
		}
	}},
	{"a row behind does not wait for the store", func(t trial) {
		release := t.block()
		for _, name := range numbered("call", 50) {
			must(t, t.Store.End(t.Context(), behind(name))) // or never returns
		}
		if got := all(t, t.Store); len(got) != 0 {
			t.Fatalf("%d rows are there", len(got))
		}
		release()
		until(t, "they are written by themselves", func() bool {
			n, err := t.Store.Newest(t.Context())
			return err == nil && n == 50
		})
		checkWhole(t, all(t, t.Store))
		if h := t.Store.Health(); h.Commits > 2 {
			t.Errorf("health %+v", h)
		}
	}},
	{"a durable row takes those behind along", func(t trial) {
		for _, name := range numbered("call", 5) {
			must(t, t.Store.End(t.Context(), behind(name)))
		}
		must(t, t.Store.End(t.Context(), record("last")))
		if got := checkWhole(t, all(t, t.Store)); len(got) != 6 {
			t.Errorf("%d rows", len(got))
		}
	}},
	{"a caller that stops waiting loses no row", func(t trial) {
		release := t.block()
		ctx, cancel := context.WithCancel(t.Context())
		names := numbered("call", 20)
		wait := together(names, func(name string) error { return t.Store.End(ctx, record(name)) })
		until(t, "all have queued", func() bool { return t.Store.Health().Queued == len(names) })
		cancel()
		for _, err := range wait() {
			if !errors.Is(err, store.ErrQueued) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		release()
		must(t, t.Store.Close(t.Context()))
		if got := checkWhole(t, all(t, t.again())); len(got) != len(names) {
			t.Errorf("%d rows", len(got))
		}
	}},
	{"a row whose caller has gone and that cannot be right is counted as lost", func(t trial) {
		must(t, t.Spoil(row("bad").Tool))
		release := t.block()
		ctx, cancel := context.WithCancel(t.Context())
		wait := together([]string{"bad"}, func(name string) error { return t.Store.End(ctx, record(name)) })
		until(t, "it has queued", func() bool { return t.Store.Health().Queued == 1 })
		cancel()
		if err := wait()[0]; !errors.Is(err, store.ErrQueued) {
			t.Fatalf("got %v", err)
		}
		release()
		must(t, t.Store.Close(t.Context()))
		if h := t.Store.Health(); h.Lost != 1 {
			t.Errorf("health %+v", h)
		}
	}},
}
