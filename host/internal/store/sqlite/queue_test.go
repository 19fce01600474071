// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

const linger = 50 * time.Millisecond

// In these tests there is no writer but take, and time stands still until
// everybody waits.

func TestRowsBehindLieForTheLingerAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, 5, linger)
		start := time.Now()
		putBehind(t, q, "a")
		go func() {
			time.Sleep(linger - 1)
			putBehind(t, q, "b")
		}()
		expect(t, q.take(nil), "a", "b")
		if d := time.Since(start); d != linger {
			t.Errorf("took %v", d)
		}
		start = time.Now()
		putBehind(t, q, "c")
		expect(t, q.take(nil), "c")
		if d := time.Since(start); d != linger {
			t.Errorf("took %v the second time", d)
		}
	})
}

func TestAFullBatchIsTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, 3, linger)
		start := time.Now()
		go func() {
			for i := range 3 {
				putBehind(t, q, strconv.Itoa(i))
			}
		}()
		expect(t, q.take(nil), "0", "1", "2")
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v", d)
		}
	})
}

func TestAWaiterTakesTheRowsBeforeItAlongAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, 3, linger)
		start := time.Now()
		for i := range 7 {
			putBehind(t, q, strconv.Itoa(i))
		}
		go func() {
			if err := q.wait(t.Context(), &request{kind: record, row: ledger.Row{Call: "waiter"}}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		expect(t, q.take(nil), "0", "1", "2")
		expect(t, q.take(nil), "3", "4", "5")
		last := q.take(nil)
		expect(t, last, "6", "waiter")
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v", d)
		}
		last[1].done <- nil
	})
}

func TestWhatAFullBatchLeavesIsNotMadeToWaitAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, 3, linger)
		start := time.Now()
		for i := range 4 {
			putBehind(t, q, strconv.Itoa(i))
		}
		expect(t, q.take(nil), "0", "1", "2")
		expect(t, q.take(nil), "3")
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v", d)
		}
	})
}

func TestAFullQueueMakesCallersWaitInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2, 2, linger)
		putBehind(t, q, "a")
		putBehind(t, q, "b")
		entered := make(chan string, 3)
		for _, name := range []string{"c", "d", "e"} {
			go func() {
				putBehind(t, q, name)
				entered <- name
			}()
			synctest.Wait()
		}
		if len(entered) != 0 || q.len() != 2 {
			t.Fatalf("%d came in, %d are queued", len(entered), q.len())
		}
		expect(t, q.take(nil), "a", "b")
		synctest.Wait()
		next := q.take(nil) // let in together, in whatever order they run
		slices.SortFunc(next, func(a, b *entry) int { return strings.Compare(a.row.Call, b.row.Call) })
		expect(t, next, "c", "d")
		synctest.Wait()
		expect(t, q.take(nil), "e")
		synctest.Wait()
		if len(entered) != 3 {
			t.Errorf("%d came in", len(entered))
		}
	})
}

func TestALongRowTakesTheRoomOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, 10, linger)
		long := ledger.Row{Call: "long", Detail: strings.Repeat("x", 8*1024)}
		if err := q.behind(&request{kind: record, row: long}); err != nil {
			t.Fatal(err)
		}
		putBehind(t, q, "a")
		in := false
		go func() {
			putBehind(t, q, "b")
			in = true
		}()
		synctest.Wait()
		if in {
			t.Error("there was room for b")
		}
		expect(t, q.take(nil), "long", "a")
		expect(t, q.take(nil), "b")
		longest := ledger.Row{Call: "longest", Detail: strings.Repeat("x", store.MaxRow-100)}
		if err := q.behind(&request{kind: record, row: longest}); err != nil { // more than the room that there is
			t.Fatal(err)
		}
		expect(t, q.take(nil), "longest")
	})
}

func TestAnIntentThatFindsNoRoomIsGivenUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 1, linger)
		putBehind(t, q, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.wait(ctx, &request{kind: intent, row: ledger.Row{Call: "b"}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		expect(t, q.take(nil), "a")
	})
}

func TestARowWaitsForRoomWhateverItsContextDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 1, linger)
		putBehind(t, q, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got := make(chan error, 1)
		go func() { got <- q.wait(ctx, &request{kind: record, row: ledger.Row{Call: "b"}}) }()
		synctest.Wait()
		expect(t, q.take(nil), "a")
		if err := <-got; !errors.Is(err, store.ErrQueued) {
			t.Errorf("got %v", err)
		}
		expect(t, q.take(nil), "b")
	})
}

func TestAnIntentWhoseCallerHasGoneIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, 10, linger)
		w := &writer{queue: q}
		begin := func(call string) (cancel func(), got chan error) {
			ctx, cancel := context.WithCancel(t.Context())
			got = make(chan error, 1)
			go func() { got <- q.wait(ctx, &request{kind: intent, row: ledger.Row{Call: call}}) }()
			synctest.Wait()
			return cancel, got
		}
		cancel, got := begin("a")
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		cancel, got = begin("b")
		batch := q.take(nil)
		expect(t, batch, "a", "b")
		batch = w.claim(batch)
		expect(t, batch, "b")
		cancel() // too late: the transaction has it
		synctest.Wait()
		select {
		case err := <-got:
			t.Errorf("got %v before the answer", err)
		default:
		}
		batch[0].done <- nil
		if err := <-got; err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestAClosedQueueGivesWhatItHasAndTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2, 2, linger)
		putBehind(t, q, "a")
		putBehind(t, q, "b")
		late := make(chan error, 1)
		go func() { late <- q.behind(&request{kind: record, row: ledger.Row{Call: "c"}}) }()
		synctest.Wait()
		q.close()
		expect(t, q.take(nil), "a", "b")
		if err := <-late; !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if err := q.behind(&request{kind: record, row: ledger.Row{}}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if err := q.wait(t.Context(), &request{kind: record, row: ledger.Row{}}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v", err)
		}
		expect(t, q.take(nil))
	})
}

func TestARowBehindCostsItsCallerNoAllocation(t *testing.T) {
	q := newQueue(2000, 2000, time.Hour)
	row := benchRecord(true).Row
	buf := make([]*entry, 0, 2000)
	if n := testing.AllocsPerRun(1000, func() {
		if err := q.behind(&request{kind: record, row: row}); err != nil {
			t.Fatal(err)
		}
		q.due = true
		batch := q.take(buf)
		q.answered(len(batch))
		for _, e := range batch {
			q.recycle(e)
		}
	}); n >= 1 { // the pool may be emptied meanwhile
		t.Errorf("%v allocations", n)
	}
}

func putBehind(t *testing.T, q *queue, call string) {
	t.Helper()
	if err := q.behind(&request{kind: record, row: ledger.Row{Call: call}}); err != nil {
		t.Error(err)
	}
}

func expect(t *testing.T, batch []*entry, want ...string) {
	t.Helper()
	got := make([]string, len(batch))
	for i, e := range batch {
		got[i] = e.row.Call
	}
	if !slices.Equal(got, want) {
		t.Fatalf("took %v, want %v", got, want)
	}
}
