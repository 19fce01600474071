// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
)

// counting is of what runs may use.
var counting = []test{
	{"a charge is there when Begin returns, whether or not the intent is kept", func(t trial) {
		other := t.again()
		for i, durable := range []bool{true, false} {
			in := counted(callName("call", i), "5")
			in.Durable = durable
			must(t, t.Store.Begin(t.Context(), in))
			usedIs(t, other, "run", map[string]int64{limit.Calls: int64(i + 1)})
		}
		if open := openIntents(t, t.Store); len(open) != 1 {
			t.Errorf("open: %v", open)
		}
		usedIs(t, other, "another run", map[string]int64{})
	}},
	{"what does not fit begins nothing and spends nothing", func(t trial) {
		id := approved(t, t.Store, "a")
		in := spends("a", id)
		in.Round, in.RoundUntil = "round", time.Now().Add(time.Hour)
		in.Charges = []limit.Charge{{What: limit.Calls, Add: 1, Max: 9}, {What: limit.Cost, Add: 5, Max: 4}}
		err := t.Store.Begin(t.Context(), in)
		want := limit.SpentError{Charge: in.Charges[1]}
		if spent, ok := errors.AsType[*limit.SpentError](err); !ok || *spent != want {
			t.Fatalf("got %v", err)
		}
		statusIs(t, t.Store, id, approval.Approved)
		usedIs(t, t.Store, in.Run, map[string]int64{})
		if open := openIntents(t, t.Store); len(open) != 0 {
			t.Errorf("open: %v", open)
		}
		in.Charges[1].Max = 5
		must(t, t.Store.Begin(t.Context(), in)) // the round was not spent either
		usedIs(t, t.Store, in.Run, map[string]int64{limit.Calls: 1, limit.Cost: 5})
	}},
	{"a run that has used all may not begin even what may cost nothing", func(t trial) {
		must(t, t.Store.Begin(t.Context(), charged("a", 5, 5)))
		if _, ok := errors.AsType[*limit.SpentError](t.Store.Begin(t.Context(), charged("b", 0, 5))); !ok {
			t.Error("it began")
		}
	}},
	{"End charges what it settles, beyond the bound too, and gives back", func(t trial) {
		must(t, t.Store.Begin(t.Context(), charged("a", 2, 5)))
		rec := record("a")
		rec.Run, rec.Settle = "run", []limit.Charge{{What: limit.Cost, Add: 7, Max: 1}}
		must(t, t.Store.End(t.Context(), rec))
		usedIs(t, t.Store, "run", map[string]int64{limit.Cost: 9})
		rec = record("b")
		rec.Run, rec.Settle = "run", []limit.Charge{{What: limit.Cost, Add: -4}}
		must(t, t.Store.End(t.Context(), rec))
		usedIs(t, t.Store, "run", map[string]int64{limit.Cost: 5})
		rec = record("c")
		rec.Run, rec.Settle = "run", []limit.Charge{{What: limit.Cost, Add: -40}}
		must(t, t.Store.End(t.Context(), rec))
		usedIs(t, t.Store, "run", map[string]int64{limit.Cost: 0})
	}},
	{"what a named row settles is settled once", func(t trial) {
		rec := record("a")
		rec.Once, rec.Settle = "spl_1", []limit.Charge{{What: limit.Cost, Add: 3}}
		must(t, t.Store.End(t.Context(), rec))
		must(t, t.Store.End(t.Context(), rec))
		usedIs(t, t.Store, rec.Run, map[string]int64{limit.Cost: 3})
	}},
	{"a row that is refused settles nothing", func(t trial) {
		must(t, t.Spoil(row("a").Tool))
		rec := record("a")
		rec.Settle = []limit.Charge{{What: limit.Cost, Add: 3}}
		if err := t.Store.End(t.Context(), rec); err == nil {
			t.Fatal("no error")
		}
		usedIs(t, t.Store, rec.Run, map[string]int64{})
	}},
	{"of many at once exactly as many begin as may", func(t trial) {
		const callers, may = 64, 100
		other := t.again()
		var mu sync.Mutex
		begun := 0
		wait := together(numbered("caller", callers), func(caller string) error {
			s := t.Store
			if caller[len(caller)-1]%2 == 0 {
				s = other
			}
			n, err := countAll(s, caller, strconv.Itoa(may))
			mu.Lock()
			defer mu.Unlock()
			begun += n
			return err
		})
		must(t, errors.Join(wait()...))
		if begun != may {
			t.Errorf("%d calls began, %d may", begun, may)
		}
		usedIs(t, t.Store, "run", map[string]int64{limit.Calls: may})
	}},
	{"in several processes exactly as many begin as may", func(t trial) {
		const may = 150
		children := []*child{remote(t, t.Location, Opening{}, ""), remote(t, t.Location, Opening{}, "")}
		for i, c := range children {
			c.hear(t)
			c.say(t, "count", fmt.Sprintf("child%d", i), strconv.Itoa(may))
		}
		begun, err := countAll(t.Store, "mine", strconv.Itoa(may))
		must(t, err)
		for _, c := range children {
			n, err := strconv.Atoi(strings.TrimPrefix(c.hear(t), "ok "))
			must(t, err)
			begun += n
		}
		if begun != may {
			t.Errorf("%d calls began, %d may", begun, may)
		}
		for _, c := range children {
			c.leave(t)
		}
	}},
	{"what is used is what a model says", func(t trial) {
		rapid.Check(t.T, func(r *rapid.T) { counts(t, r) })
	}},
}

// counts runs calls of two runs with whatever charges, ends some, opens the store
// again now and then, and holds what is used against a sum.
func counts(t trial, r *rapid.T) {
	store := t.Store
	model := map[string]map[string]int64{}
	open := map[string][]string{}
	prefix := rapid.StringMatching(`[a-z]{12}`).Draw(r, "prefix") // the store is that of all of them
	n := 0
	someRun := func() string { return prefix + rapid.SampledFrom([]string{"x", "y"}).Draw(r, "run") }
	whats := []string{limit.Calls, limit.Cost, "tool_a"}
	check := func(run string) {
		got, err := store.Used(context.Background(), run)
		want := model[run]
		if want == nil {
			want = map[string]int64{}
		}
		if err != nil || !maps.Equal(want, got) {
			r.Fatalf("%s: %v, -want +got\n%s", run, err, cmp.Diff(want, got))
		}
	}
	r.Repeat(map[string]func(*rapid.T){
		"begin": func(r *rapid.T) {
			run := someRun()
			n++
			in := durable(callName(prefix, n))
			in.Run, in.Durable = run, rapid.Bool().Draw(r, "durable")
			fits := true
			for _, what := range rapid.SliceOfNDistinct(rapid.SampledFrom(whats), 1, 3, rapid.ID).Draw(r, "what") {
				c := limit.Charge{What: what, Add: rapid.Int64Range(0, 3).Draw(r, "add"), Max: rapid.Int64Range(0, 8).Draw(r, "max")}
				in.Charges = append(in.Charges, c)
				used := model[run][what]
				fits = fits && (c.Max == 0 || used < c.Max && used+c.Add <= c.Max)
			}
			_, spent := errors.AsType[*limit.SpentError](store.Begin(context.Background(), in))
			if spent == fits {
				r.Fatalf("of %v %v: refused %v", model[run], in.Charges, spent)
			}
			if !fits {
				return
			}
			open[run] = append(open[run], in.Call)
			for _, c := range in.Charges {
				add(model, run, c)
			}
			check(run)
		},
		"end": func(r *rapid.T) {
			run := someRun()
			if len(open[run]) == 0 {
				r.Skip("none is open")
			}
			rec := record(open[run][0])
			open[run] = open[run][1:]
			rec.Run = run
			rec.Settle = []limit.Charge{{What: rapid.SampledFrom(whats).Draw(r, "what"), Add: rapid.Int64Range(-3, 3).Draw(r, "add")}}
			if err := store.End(context.Background(), rec); err != nil {
				r.Fatal(err)
			}
			add(model, run, rec.Settle[0])
			check(run)
		},
	})
	for run := range model {
		check(run)
	}
}

func add(model map[string]map[string]int64, run string, c limit.Charge) {
	if c.Add == 0 {
		return
	}
	if model[run] == nil {
		model[run] = map[string]int64{}
	}
	model[run][c.What] = max(model[run][c.What]+c.Add, 0)
}

// counted is a call of a run that may make so many.
func counted(call, may string) executor.Intent {
	n, err := strconv.ParseInt(may, 10, 64)
	if err != nil {
		panic(err)
	}
	in := durable(call)
	in.Run, in.Charges, in.Durable = "run", []limit.Charge{{What: limit.Calls, Add: 1, Max: n}}, false
	return in
}

// countAll begins calls until no more may, and returns how many have begun.
func countAll(s Store, caller, may string) (n int, err error) {
	for ; ; n++ {
		err := s.Begin(context.Background(), counted(callName(caller, n), may))
		if _, spent := errors.AsType[*limit.SpentError](err); spent {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// charged is a call of a run with a budget.
func charged(call string, cost, budget int64) executor.Intent {
	in := durable(call)
	in.Run, in.Charges = "run", charges(cost, budget)
	return in
}

func charges(cost, budget int64) []limit.Charge {
	return []limit.Charge{{What: limit.Cost, Add: cost, Max: budget}}
}

// settled is the end of a call that has cost so much more.
func settled(call string, more int64) executor.Record {
	rec := record(call)
	rec.Settle = charges(more, 0)
	return rec
}

func usedIs(tb testing.TB, s Store, run string, want map[string]int64) {
	tb.Helper()
	got, err := s.Used(tb.Context(), run)
	must(tb, err)
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s, -want +got\n%s", run, diff)
	}
}

// countedOnce fails unless each call of cycle was charged once for each half of it
// that is there.
func countedOnce(tb testing.TB, s Store) {
	tb.Helper()
	want := map[string]int64{}
	for _, r := range openIntents(tb, s) {
		want[r.Run] = 1
	}
	for _, r := range all(tb, s) {
		switch {
		case r.Op == ledger.OpDecision:
		case r.Outcome == ledger.Unknown:
			want[r.Run] = 1
		default:
			want[r.Run] = 3
		}
	}
	for run, n := range want {
		usedIs(tb, s, run, map[string]int64{limit.Cost: n})
	}
}
