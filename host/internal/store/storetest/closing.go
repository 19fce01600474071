// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

var closing = []test{
	{"Close writes the rows behind", func(t trial) {
		names := numbered("call", 700)
		for _, name := range names {
			must(t, t.Store.End(t.Context(), behind(name)))
		}
		must(t, t.Store.Close(t.Context()))
		if got := checkWhole(t, all(t, t.again())); len(got) != len(names) {
			t.Errorf("%d rows", len(got))
		}
	}},
	{"Close that may not wait says so, and the rest is written all the same", func(t trial) {
		release := t.block()
		must(t, t.Store.End(t.Context(), behind("a")))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := t.Store.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		release()
		must(t, t.Store.Close(t.Context()))
		if got := all(t, t.again()); len(got) != 1 {
			t.Errorf("%d rows", len(got))
		}
	}},
	{"a closed store says so and writes nothing", func(t trial) {
		must(t, t.Store.Close(t.Context()))
		intent := durable("a")
		transient := durable("a")
		transient.Durable = false
		_, newest := t.Store.Newest(t.Context())
		for what, err := range map[string]error{
			"Begin":           t.Store.Begin(t.Context(), intent),
			"Begin transient": t.Store.Begin(t.Context(), transient),
			"End":             t.Store.End(t.Context(), record("a")),
			"End behind":      t.Store.End(t.Context(), behind("a")),
			"Newest":          newest,
		} {
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, err := range t.Store.Rows(t.Context(), ledger.Query{}) {
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("Rows: %v", err)
			}
		}
		must(t, t.Store.Close(t.Context()))
		if got := all(t, t.again()); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	}},
	{"what End has accepted while the store closes is written", func(t trial) {
		accepted := make(chan string, 10000)
		var started sync.WaitGroup
		callers := numbered("caller", 16)
		started.Add(len(callers))
		wait := together(callers, func(caller string) error {
			for i, name := range numbered(caller, 600) {
				rec := record(name)
				rec.Behind = i%5 != 0
				err := t.Store.End(t.Context(), rec)
				if i == 0 {
					started.Done()
				}
				if err != nil {
					return err
				}
				accepted <- name
			}
			return nil
		})
		started.Wait()
		must(t, t.Store.Close(t.Context()))
		for _, err := range wait() {
			if err != nil && !errors.Is(err, store.ErrClosed) {
				t.Error(err)
			}
		}
		close(accepted)
		rows := checkWhole(t, all(t, t.again()))
		n := 0
		for name := range accepted {
			n++
			if _, ok := rows[name]; !ok {
				t.Errorf("%s is missing", name)
			}
		}
		if n != len(rows) {
			t.Errorf("%d accepted, %d written", n, len(rows))
		}
	}},
	{"the store is the same when it is opened again", func(t trial) {
		id := t.Store.ID()
		must(t, t.Store.End(t.Context(), record("a")))
		must(t, t.Store.Begin(t.Context(), durable("b")))
		must(t, t.Store.Close(t.Context()))
		s := t.again()
		if s.ID() != id || id == "" {
			t.Errorf("id %q, was %q", s.ID(), id)
		}
		if s.Host() == t.Store.Host() {
			t.Errorf("the host is %s again", s.Host())
		}
		must(t, s.End(t.Context(), record("c")))
		if got := calls(all(t, s)); !cmp.Equal(got, []string{"a", "b", "c"}) { // b was reported as lost
			t.Errorf("got %v", got)
		}
	}},
}
