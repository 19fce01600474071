// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
	"github.com/toolwharf/toolwharf/host/internal/store/spool"
)

func TestRowsThatTheStoreRefusesAreGivenToItLater(t *testing.T) {
	f := newFixture(t, "host_A")
	ctx := t.Context()
	check(t, f.Begin(ctx, begun("a")))
	f.refuse(before)
	for _, call := range []string{"a", "b", "c"} {
		if err := f.End(ctx, ended(call)); !errors.Is(err, spool.ErrSpooled) || !errors.Is(err, errRefused) {
			t.Fatalf("%s: %v", call, err)
		}
	}
	if err := f.Begin(ctx, begun("d")); !errors.Is(err, spool.ErrWaiting) || !errors.Is(err, errRefused) {
		t.Fatalf("a call with effects began: %v", err)
	}
	read := begun("read")
	read.Durable = false
	check(t, f.Begin(ctx, read))
	if err := f.Fault(); !errors.Is(err, spool.ErrWaiting) {
		t.Errorf("fault: %v", err)
	}
	f.refuse(nothing)
	check(t, f.Begin(ctx, begun("d")))
	check(t, f.Fault())
	rows := f.rows(t)
	if got := calls(rows); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("rows %v", got)
	}
	for _, r := range rows {
		if want := ended(r.Call); r.Late || !r.Ended.Equal(want.Ended) || !r.Started.Equal(want.Started) || r.Detail != want.Detail {
			t.Errorf("row %+v", r)
		}
	}
	if got := f.files(t); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestTheBackgroundGivesTheStoreWhatWaits(t *testing.T) {
	f := newFixture(t, "host_A")
	f.refuse(before)
	if err := f.End(t.Context(), ended("a")); !errors.Is(err, spool.ErrSpooled) {
		t.Fatal(err)
	}
	f.refuse(nothing)
	until(t, func() bool { return len(f.rows(t)) == 1 })
}

func TestARowThatWasWrittenBeforeItsAnswerWasLostIsNotThereTwice(t *testing.T) {
	f := newFixture(t, "host_A")
	f.refuse(before)
	for _, call := range []string{"a", "b", "c"} {
		if err := f.End(t.Context(), ended(call)); !errors.Is(err, spool.ErrSpooled) {
			t.Fatal(err)
		}
	}
	for range 3 { // the first row goes in, and nobody is told
		f.refuse(after)
		if err := f.Begin(t.Context(), begun("d")); !errors.Is(err, spool.ErrWaiting) {
			t.Fatal(err)
		}
	}
	f.refuse(nothing)
	check(t, f.Begin(t.Context(), begun("d")))
	if got := calls(f.rows(t)); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("rows %v", got)
	}
}

func TestRowsThatTheStoreHadAcceptedAreSpooledToo(t *testing.T) {
	f := newFixture(t, "host_A")
	check(t, f.store.Close(t.Context()))
	for _, rec := range []executor.Record{ended("a"), {Row: ended("b").Row, Behind: true}} {
		if err := f.End(t.Context(), rec); !errors.Is(err, spool.ErrSpooled) || !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	f.Spill(ended("c").Row, errRefused)
	g := f.next(t, "host_B") // A has ended, and left this
	until(t, func() bool { return slices.Equal(calls(g.rows(t)), []string{"a", "b", "c"}) })
}

func TestAStoreThatIsLockedLosesNoRow(t *testing.T) {
	f := newFixture(t, "host_A")
	const n = 60
	f.lock(t, func() {
		for i := range n {
			rec := ended(fmt.Sprint("call_", i))
			rec.Behind = i%2 == 0
			if err := f.End(t.Context(), rec); err != nil && !errors.Is(err, spool.ErrSpooled) {
				t.Error(err)
			}
		}
		until(t, func() bool { return f.store.Health().Queued == 0 })
	})
	check(t, f.Begin(t.Context(), begun("next")))
	f.exactly(t, n)
}

func TestTheRowsOfALivingHostAreItsOwn(t *testing.T) {
	f := newFixture(t, "host_A")
	f.refuse(before)
	if err := f.End(t.Context(), ended("a")); !errors.Is(err, spool.ErrSpooled) {
		t.Fatal(err)
	}
	g := f.next(t, "host_B")
	check(t, g.Begin(t.Context(), begun("b")))
	if got := g.rows(t); len(got) != 0 {
		t.Errorf("rows %v", got)
	}
	check(t, f.store.Close(t.Context()))
	// Either of the others may be the one that brings it, in its own time.
	h := f.next(t, "host_C")
	until(t, func() bool { return slices.Equal(calls(h.rows(t)), []string{"a"}) })
}

func TestTheOutcomeOfACallThatWasReportedAsLostIsLate(t *testing.T) {
	f := newFixture(t, "host_A")
	check(t, f.Begin(t.Context(), begun("a")))
	f.refuse(before)
	if err := f.End(t.Context(), ended("a")); !errors.Is(err, spool.ErrSpooled) {
		t.Fatal(err)
	}
	check(t, f.store.Close(t.Context()))
	rows := f.next(t, "host_B").rows(t)
	if len(rows) != 2 || rows[0].Outcome != ledger.Unknown || rows[1].Outcome != ledger.OK || !rows[1].Late {
		t.Errorf("rows %+v", rows)
	}
}

func TestHalfALineIsKeptForPeopleAndTheRestIsRead(t *testing.T) {
	f := newFixture(t, "host_A")
	f.refuse(before)
	for _, call := range []string{"a", "b"} {
		if err := f.End(t.Context(), ended(call)); !errors.Is(err, spool.ErrSpooled) {
			t.Fatal(err)
		}
	}
	path := filepath.Join(f.dir, f.files(t)[0])
	whole, err := os.ReadFile(path)
	check(t, err)
	cut := len(whole) - 20
	check(t, os.Truncate(path, int64(cut)))
	f.refuse(before)
	if err := f.End(t.Context(), ended("c")); !errors.Is(err, spool.ErrSpooled) { // after half a line
		t.Fatal(err)
	}
	f.refuse(nothing)
	check(t, f.Begin(t.Context(), begun("d")))
	if got := calls(f.rows(t)); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("rows %v", got)
	}
	bad, err := os.ReadFile(filepath.Join(f.dir, "host_A.bad"))
	check(t, err)
	half := whole[bytes.IndexByte(whole, '\n')+1 : cut]
	if !bytes.Equal(bad, append(half, '\n')) {
		t.Errorf("kept: %q, want %q", bad, half)
	}
	if !strings.Contains(f.log.String(), "lines that are no rows") {
		t.Error("nobody was told")
	}
}

func TestManyCallersLoseAndDoubleNothingWhileTheStoreComesAndGoes(t *testing.T) {
	f := newFixture(t, "host_A")
	const callers, each = 8, 60
	stop := make(chan struct{})
	var toggling sync.WaitGroup
	toggling.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				f.refuse(nothing)
				return
			default:
				f.refuse(mode(i % 3))
				time.Sleep(time.Millisecond)
			}
		}
	})
	// Another host takes this one for dead, and flushes under its hands.
	other, err := spool.New(f.dir, spool.Options{
		Host: "host_B", Floor: -1, Alive: func(context.Context, string) (bool, error) { return false, nil },
	})
	check(t, err)
	other.Start(t.Context(), f.store)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				err := f.End(t.Context(), ended(fmt.Sprintf("call_%d_%d", c, i)))
				if err != nil && !errors.Is(err, spool.ErrSpooled) {
					t.Error(err)
				}
				if i%10 == 0 {
					_ = other.Begin(t.Context(), begun(fmt.Sprintf("other_%d_%d", c, i))) // flushes, or says that it cannot
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	toggling.Wait()
	check(t, f.Begin(t.Context(), begun("last")))
	check(t, other.Stop(t.Context()))
	f.exactly(t, callers*each)
}

func TestACallWithEffectsNeedsSpaceOnTheDisk(t *testing.T) {
	for floor, want := range map[int64]error{1 << 62: spool.ErrFloor, -1: nil, 1: nil} {
		j, err := spool.New(t.TempDir(), spool.Options{Host: "host_A", Floor: floor})
		check(t, err)
		j.Start(t.Context(), accepting{})
		if err := j.Begin(t.Context(), begun("a")); !errors.Is(err, want) {
			t.Errorf("floor %d: %v", floor, err)
		}
		if err := j.Fault(); !errors.Is(err, want) {
			t.Errorf("floor %d, fault: %v", floor, err)
		}
		read := begun("a")
		read.Durable = false
		check(t, j.Begin(t.Context(), read))
		check(t, j.End(t.Context(), ended("a")))
		check(t, j.Stop(t.Context()))
	}
}

func TestWhatCouldNeverBeRightIsNotSpooled(t *testing.T) {
	f := newFixture(t, "host_A")
	rec := ended("a")
	rec.Detail = strings.Repeat("x", store.MaxRow+1)
	if err := f.End(t.Context(), rec); !errors.Is(err, store.ErrTooLarge) || errors.Is(err, spool.ErrSpooled) {
		t.Errorf("got %v", err)
	}
	check(t, f.Begin(t.Context(), begun("b")))
}
