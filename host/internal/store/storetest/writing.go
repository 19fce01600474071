// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var writing = []test{
	{"a row is read as it was written", func(t trial) {
		must(t, t.Store.End(t.Context(), record("a")))
		if len(checkWhole(t, all(t, t.Store))) != 1 {
			t.Error("no row")
		}
	}},
	{"a row of a refused call needs no intent and hardly any column", func(t trial) {
		want := ledger.Row{
			Call: "call_A", Started: time.UnixMicro(1).UTC(), Ended: time.UnixMicro(2).UTC(),
			Outcome: ledger.Refused, Kind: tool.ArgsInvalid,
		}
		must(t, t.Store.End(t.Context(), executor.Record{Row: want}))
		want.Seq = 1
		sameRows(t, []ledger.Row{want}, all(t, t.Store))
	}},
	{"times are kept in UTC to the microsecond", func(t trial) {
		rec := record("a")
		rec.Started = time.Date(2026, 3, 29, 2, 30, 0, 123456789, time.FixedZone("", 5400))
		rec.Ended = rec.Started.Add(time.Nanosecond * 1500)
		must(t, t.Store.End(t.Context(), rec))
		got := all(t, t.Store)[0]
		if s, e := got.Started.String(), got.Ended.String(); s != "2026-03-29 01:00:00.123456 +0000 UTC" ||
			e != "2026-03-29 01:00:00.123458 +0000 UTC" {
			t.Errorf("got %s and %s", s, e)
		}
	}},
	{"rows keep the order of one caller", func(t trial) {
		names := numbered("call", 300)
		for i, name := range names {
			rec := record(name)
			rec.Behind = i%7 != 0
			must(t, t.Store.End(t.Context(), rec))
		}
		must(t, t.Store.Close(t.Context()))
		rows := all(t, t.again())
		checkWhole(t, rows)
		if diff := cmp.Diff(names, calls(rows)); diff != "" {
			t.Error("-want +got\n" + diff)
		}
	}},
	{"one call may have several rows", func(t trial) {
		must(t, t.Store.End(t.Context(), record("a")))
		must(t, t.Store.End(t.Context(), record("a")))
		if got := calls(all(t, t.Store)); len(got) != 2 {
			t.Errorf("got %v", got)
		}
	}},
	{"many callers lose and mix nothing", func(t trial) {
		names := numbered("call", 2000)
		next := make(chan string)
		go func() {
			defer close(next)
			for _, name := range names {
				next <- name
			}
		}()
		wait := together(numbered("caller", 64), func(string) error {
			for name := range next {
				if err := t.Store.Begin(t.Context(), durable(name)); err != nil {
					return err
				}
				rec := record(name)
				rec.Behind = len(name)%2 == 0
				if err := t.Store.End(t.Context(), rec); err != nil {
					return err
				}
			}
			return nil
		})
		must(t, errors.Join(wait()...))
		must(t, t.Store.Close(t.Context()))
		s := t.again()
		if got := checkWhole(t, all(t, s)); len(got) != len(names) {
			t.Errorf("%d rows of %d", len(got), len(names))
		}
		if open := openIntents(t, s); len(open) != 0 {
			t.Errorf("open intents: %v", open)
		}
	}},
	{"a row that cannot be right fails alone", func(t trial) {
		must(t, t.Spoil(row("bad").Tool))
		release := t.block()
		names := append(numbered("call", 30), "bad", "worse")
		wait := together(names, func(name string) error {
			rec := record(name)
			if name == "worse" {
				rec.Call = ""
			}
			return t.Store.End(t.Context(), rec)
		})
		until(t, "all have queued", func() bool { return t.Store.Health().Queued == len(names) })
		release()
		for i, err := range wait() {
			if bad := i >= 30; (err != nil) != bad {
				t.Errorf("%s: %v", names[i], err)
			}
		}
		if got := checkWhole(t, all(t, t.Store)); len(got) != 30 {
			t.Errorf("%d rows", len(got))
		}
		if h := t.Store.Health(); h.Err != nil || h.Lost != 0 {
			t.Errorf("health %+v, though the callers were told", h)
		}
	}},
	{"a row behind that cannot be right is counted as lost", func(t trial) {
		must(t, t.Spoil(row("bad").Tool))
		for _, name := range []string{"a", "bad", "b"} {
			must(t, t.Store.End(t.Context(), behind(name)))
		}
		must(t, t.Store.Close(t.Context()))
		if h := t.Store.Health(); h.Lost != 1 || h.LostErr == nil || h.Rows != 2 {
			t.Errorf("health %+v", h)
		}
		if got := calls(all(t, t.again())); !cmp.Equal(got, []string{"a", "b"}) {
			t.Errorf("got %v", got)
		}
	}},
	{"a row without bounds is refused at once", func(t trial) {
		rec := record("a")
		rec.Detail = strings.Repeat("x", store.MaxRow)
		for _, rec.Behind = range []bool{false, true} {
			if err := t.Store.End(t.Context(), rec); !errors.Is(err, store.ErrTooLarge) {
				t.Errorf("got %v", err)
			}
		}
		rec.Detail, rec.Behind = rec.Detail[1024:], false
		must(t, t.Store.End(t.Context(), rec))
		if got := all(t, t.Store); len(got) != 1 || got[0].Detail != rec.Detail {
			t.Error("a row that just fits is not there")
		}
	}},
	{"a context that has ended does not keep a row from being written", func(t trial) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		must(t, t.Store.End(ctx, behind("a")))
		if err := t.Store.End(ctx, record("b")); err != nil && !errors.Is(err, store.ErrQueued) {
			t.Errorf("got %v", err)
		}
		must(t, t.Store.Close(t.Context()))
		if got := calls(all(t, t.again())); !cmp.Equal(got, []string{"a", "b"}) {
			t.Errorf("got %v", got)
		}
	}},
}
