// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

var intents = []test{
	{"a durable intent is seen by other processes when Begin returns", func(t trial) {
		other := t.again()
		must(t, t.Store.Begin(t.Context(), durable("a")))
		want := map[string]ledger.Row{"a": begun(row("a"))}
		if diff := cmp.Diff(want, openIntents(t, other)); diff != "" {
			t.Error("-want +got\n" + diff)
		}
		if got := all(t, other); len(got) != 0 {
			t.Errorf("the ledger has %v", got)
		}
	}},
	{"an intent that need not be durable is not kept", func(t trial) {
		in := durable("a")
		in.Durable = false
		must(t, t.Store.Begin(t.Context(), in))
		if open := openIntents(t, t.Store); len(open) != 0 {
			t.Errorf("open: %v", open)
		}
		if h := t.Store.Health(); h.Commits != 0 {
			t.Errorf("health %+v", h)
		}
		must(t, t.Store.End(t.Context(), record("a")))
	}},
	{"a row of the same call that arrived at another time leaves its intent open", func(t trial) {
		must(t, t.Store.Begin(t.Context(), durable("a")))
		refused := record("a")
		refused.Started = refused.Started.Add(time.Microsecond)
		refused.Outcome = ledger.Refused
		must(t, t.Store.End(t.Context(), refused))
		if open := openIntents(t, t.Store); len(open) != 1 {
			t.Errorf("open: %v", open)
		}
	}},
	{"End removes the intent of its call and no other", func(t trial) {
		must(t, t.Store.Begin(t.Context(), durable("a")))
		must(t, t.Store.Begin(t.Context(), durable("b")))
		must(t, t.Store.End(t.Context(), record("a")))
		if open := openIntents(t, t.Store); len(open) != 1 || open["b"].Call != "b" {
			t.Errorf("open: %v", open)
		}
	}},
	{"End of another process removes an intent", func(t trial) {
		other := t.again()
		must(t, t.Store.Begin(t.Context(), durable("a")))
		must(t, other.End(t.Context(), record("a")))
		if open := openIntents(t, t.Store); len(open) != 0 {
			t.Errorf("open: %v", open)
		}
	}},
	{"End behind removes an intent", func(t trial) {
		must(t, t.Store.Begin(t.Context(), durable("a")))
		must(t, t.Store.End(t.Context(), behind("a")))
		must(t, t.Store.Close(t.Context()))
		s := t.again()
		if open, rows := openIntents(t, s), all(t, s); len(open) != 0 || len(rows) != 1 {
			t.Errorf("open: %v, rows: %v", open, rows)
		}
	}},
	{"a row that is refused leaves its intent open", func(t trial) {
		must(t, t.Spoil(row("a").Tool))
		must(t, t.Store.Begin(t.Context(), durable("a")))
		if err := t.Store.End(t.Context(), record("a")); err == nil {
			t.Fatal("no error")
		}
		if open := openIntents(t, t.Store); len(open) != 1 {
			t.Errorf("open: %v", open)
		}
	}},
	{"a call cannot begin twice, until it has ended", func(t trial) {
		other := t.again()
		must(t, t.Store.Begin(t.Context(), durable("a")))
		for _, s := range []Store{t.Store, other} {
			if err := s.Begin(t.Context(), durable("a")); !errors.Is(err, store.ErrBegun) {
				t.Errorf("got %v", err)
			}
		}
		must(t, t.Store.End(t.Context(), record("a")))
		must(t, other.Begin(t.Context(), durable("a")))
	}},
	{"an intent without a call is refused", func(t trial) {
		if err := t.Store.Begin(t.Context(), executor.Intent{Durable: true}); err == nil {
			t.Error("no error")
		}
	}},
	{"a Begin that has failed has written nothing, whenever its context ends", func(t trial) {
		names := numbered("call", 300)
		wait := together(names, func(name string) error {
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			err := t.Store.Begin(ctx, durable(name))
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			return err
		})
		errs := wait()
		must(t, t.Store.Close(t.Context()))
		found := map[string]bool{} // as begun and never ended
		for _, r := range all(t, t.again()) {
			found[r.Call] = r.Outcome == ledger.Unknown
		}
		for i, name := range names {
			if written := found[name]; written != (errs[i] == nil) {
				t.Errorf("%s: error %v, written %t", name, errs[i], written)
			}
		}
	}},
	{"any number of intents can be open", func(t trial) {
		names := numbered("call", 500)
		wait := together(names, func(name string) error { return t.Store.Begin(t.Context(), durable(name)) })
		must(t, errors.Join(wait()...))
		if open := openIntents(t, t.Store); len(open) != len(names) {
			t.Errorf("%d open", len(open))
		}
		for _, err := range t.Store.Intents(t.Context()) {
			must(t, err)
			break
		}
	}},
}
