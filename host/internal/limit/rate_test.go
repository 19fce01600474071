// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// caseOf is a principal's call of orders_get.
func caseOf(who string) *tool.Case {
	return &tool.Case{
		Call:  &tool.Call{Op: tool.OpTool, Name: "orders_get", Principal: tool.Principal{Kind: tool.Stdio, Subject: who}},
		Spec:  &tool.Spec{Name: "orders_get", Adapter: "orders", Declared: "get"},
		RunID: "run_1", Who: "stdio/local/" + who,
	}
}

func TestARateIsReadAsItIsWritten(t *testing.T) {
	for s, want := range map[string]Rate{
		"10/s": {10, time.Second}, "100/m": {100, time.Minute}, "7/h": {7, time.Hour}, "5000/d": {5000, 24 * time.Hour},
	} {
		if got, err := ParseRate(s); err != nil || got != want || got.String() != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "10", "/s", "0/s", "-1/s", "1/w", "1/s/s", "1.5/s", "1000000000/s", "x/s"} {
		if got, err := ParseRate(s); err == nil {
			t.Errorf("%q is read as %v", s, got)
		}
	}
}

func TestARateLetsSoManyGoAtOnceAndThenOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Policy{Rate: Rate{10, time.Second}, Rates: &Rates{}}
		for i := range 10 {
			if err := p.Take(caseOf("ann")); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		err := p.Take(caseOf("ann"))
		if err == nil || err.Kind != tool.RateLimited || err.Code != "principal_rate" || err.RetryAfter != 100*time.Millisecond || err.Sent {
			t.Fatalf("beyond the rate: %+v", err)
		}
		if err := p.Take(caseOf("bob")); err != nil {
			t.Errorf("another principal: %v", err)
		}
		time.Sleep(err.RetryAfter)
		if err := p.Take(caseOf("ann")); err != nil {
			t.Errorf("when it was told to come again: %v", err)
		}
		if err := p.Take(caseOf("ann")); err == nil {
			t.Error("two came back where one had")
		}
	})
}

func TestACallThatOneRateRefusesTakesNothingFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Policy{
			Rate: Rate{2, time.Hour}, Rates: &Rates{},
			Adapters: map[string]Adapter{"orders": {Rate: Rate{3, time.Hour}, Tools: map[string]Tool{"get": {Rate: Rate{1, time.Hour}}}}},
		}
		other := func() *tool.Case {
			c := caseOf("ann")
			c.Spec = &tool.Spec{Name: "orders_list", Adapter: "orders", Declared: "list"}
			return c
		}
		codes := func(c *tool.Case) string {
			if err := p.Take(c); err != nil {
				return err.Code
			}
			return "goes"
		}
		got := []string{
			codes(caseOf("ann")), codes(caseOf("ann")), codes(caseOf("ann")), // the refused ones have taken nothing of hers
			codes(other()), codes(other()),
			codes(caseOf("bob")),
		}
		want := []string{"goes", "tool_rate", "tool_rate", "goes", "principal_rate", "tool_rate"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error("-want +got\n" + diff)
		}
		for range 2 { // what was refused has not taken from the adapter
			c := other()
			c.Who = "cleo"
			got = append(got[:0], codes(c))
		}
		if got[0] != "adapter_rate" {
			t.Errorf("the adapter's rate: %v", got)
		}
	})
}

func TestJudgingTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Policy{Rate: Rate{1, time.Hour}, Rates: &Rates{}}
		for range 3 {
			if v, err := p.Judge(t.Context(), caseOf("ann")); err != nil || v.Decision != tool.Pass {
				t.Fatalf("%+v, %v", v, err)
			}
		}
		if err := p.Take(caseOf("ann")); err != nil {
			t.Fatal(err)
		}
		if v, err := p.Judge(t.Context(), caseOf("ann")); err != nil || v.Decision != tool.Refuse || v.Err.Kind != tool.RateLimited {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestAdmissionIsCountedForEachPrincipalOnItsOwn(t *testing.T) {
	p := &Policy{Admission: Rate{2, time.Hour}, Rate: Rate{1, time.Hour}, Rates: &Rates{}}
	for i, want := range []bool{true, true, false} {
		if err := p.Admit(caseOf("ann")); (err == nil) != want {
			t.Errorf("call %d: %v", i, err)
		} else if err != nil && (err.Code != "admission" || err.RetryAfter <= 0) {
			t.Errorf("%+v", err)
		}
	}
	if err := p.Admit(caseOf("bob")); err != nil {
		t.Error(err)
	}
	if err := p.Take(caseOf("ann")); err != nil {
		t.Errorf("admission took from the rate: %v", err)
	}
}

func TestACrowdOfPrincipalsNeitherGrowsTheTableNorEmptiesSomebodysBucketIntoANewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Rates{}
		p := &Policy{Rate: Rate{2, 24 * time.Hour}, Rates: r}
		for range 2 {
			if err := p.Take(caseOf("eve")); err != nil {
				t.Fatal(err)
			}
		}
		for i := range maxBuckets + 100 {
			_ = p.Take(caseOf(fmt.Sprintf("eve%d", i)))
			if i%1000 == 0 {
				time.Sleep(2 * sweepPause)
			}
		}
		if n := len(r.tables[ofPrincipal].of); n > maxBuckets {
			t.Errorf("%d buckets", n)
		}
		if err := p.Take(caseOf("eve")); err == nil {
			t.Error("the crowd has filled eve's bucket")
		}
		if err := p.Take(caseOf("latecomer")); err == nil {
			t.Error("the crowd beyond the table has a bucket each")
		}
		time.Sleep(24 * time.Hour) // all are full again, and make room
		if err := p.Take(caseOf("latecomer")); err != nil {
			t.Error(err)
		}
		if n := len(r.tables[ofPrincipal].of); n > 2 {
			t.Errorf("%d full buckets are kept", n)
		}
	})
}

func TestAnotherRateHoldsForBucketsThatAreThereAndFillsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Rates{}
		before, after := &Policy{Rate: Rate{2, time.Hour}, Rates: r}, &Policy{Rate: Rate{60, time.Hour}, Rates: r}
		for range 2 {
			if err := before.Take(caseOf("ann")); err != nil {
				t.Fatal(err)
			}
		}
		if err := after.Take(caseOf("ann")); err == nil {
			t.Error("a reload has filled the bucket")
		}
		time.Sleep(time.Minute)
		if err := after.Take(caseOf("ann")); err != nil {
			t.Error(err)
		}
	})
}

// A rate is a promise about any window: N, and what comes back in it.
func TestInNoWindowDoMoreCallsGoThanTheRateSays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rate := Rate{rapid.IntRange(1, 5).Draw(r, "n"), time.Second}
		pauses := rapid.SliceOfN(rapid.IntRange(0, 400), 1, 80).Draw(r, "pauses in ms")
		var went []time.Time
		synctest.Test(t, func(*testing.T) {
			p := &Policy{Rate: rate, Rates: &Rates{}}
			for _, ms := range pauses {
				time.Sleep(time.Duration(ms) * time.Millisecond)
				if p.Take(caseOf("ann")) == nil {
					went = append(went, time.Now())
				}
			}
		})
		for i := range went {
			for j := i; j < len(went); j++ {
				most := float64(rate.N) + went[j].Sub(went[i]).Seconds()*float64(rate.N)
				if n := j - i + 1; float64(n) > most+1e-6 {
					r.Fatalf("%d calls in %v", n, went[j].Sub(went[i]))
				}
			}
		}
	})
}

func TestAmountsAreExact(t *testing.T) {
	for s, want := range map[string]Amount{
		"0": 0, "1": unit, "0.1": unit / 10, "0.000000001": 1, "1e-9": 1, "12.50": 12*unit + unit/2, "1e9": MaxAmount, "1000000000": MaxAmount,
	} {
		if got, err := ParseAmount(s); err != nil || got != want {
			t.Errorf("%s: %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "-1", "-0.1", "1e10", "1000000000.000000001", "0.0000000001", "1e400", "1e999999999", "1/2", "0x1", "null", `"1"`, "1 2", "NaN", "Inf", "1_0"} {
		if got, err := ParseAmount(s); err == nil {
			t.Errorf("%q is read as %d", s, got)
		}
	}
	for a, want := range map[Amount]string{0: "0", 1: "0.000000001", unit: "1", 12*unit + unit/2: "12.5", MaxAmount: "1000000000"} {
		if a.String() != want {
			t.Errorf("%d is written as %s", a, a)
		}
	}
}

func TestWhatAnAdapterSaysThatACallHasCostNeverGivesBackAndIsRoundedUp(t *testing.T) {
	for s, want := range map[string]Amount{
		"0.5": unit / 2, "0.0000000001": 1, "1e-400": 1, "1e400": MaxAmount, "99999999999999999999": MaxAmount,
		"-5": 0, "-1e400": 0, "": 0, "much": 0, "1e9999999": 0, "0": 0,
	} {
		if got := atLeast(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func FuzzAmounts(f *testing.F) {
	for _, s := range []string{"1", "0.1", "-1", "1e9", "1e-9", "1e400", "00", ".5", "1e", "[", `"1"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAmount(s)
		said := atLeast(s)
		if said < 0 || said > MaxAmount {
			t.Fatalf("%q: an adapter's cost of %d", s, said)
		}
		if err != nil {
			return
		}
		if back, err := ParseAmount(a.String()); err != nil || back != a || said != a {
			t.Fatalf("%q: %d, written as %s, read as %d, %v; of an adapter %d", s, a, a, back, err, said)
		}
	})
}

func TestAChargeFitsOrNot(t *testing.T) {
	for _, c := range []struct {
		add, max, used int64
		fits           bool
	}{
		{1, 0, math.MaxInt64, true}, // no bound
		{1, 3, 2, true},
		{1, 3, 3, false},
		{2, 3, 2, false},
		{0, 3, 2, true},
		{0, 3, 3, false}, // nothing is left
		{0, 3, 4, false},
		{math.MaxInt64, math.MaxInt64, 1, false},
	} {
		if got := (Charge{Add: c.add, Max: c.max}).Fits(c.used); got != c.fits {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, c := range []struct{ add, used, sum int64 }{
		{1, 2, 3}, {-1, 2, 1}, {-3, 2, 0}, {1, math.MaxInt64, math.MaxInt64}, {math.MaxInt64, 1, math.MaxInt64},
	} {
		if got := (Charge{Add: c.add}).Sum(c.used); got != c.sum {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestWhatACallIsCharged(t *testing.T) {
	for name, tc := range map[string]struct {
		policy Policy
		tool   Tool
		sent   bool
		want   []Charge
	}{
		"nothing is limited":       {},
		"calls of the run":         {policy: Policy{MaxCalls: 9}, want: []Charge{{Calls, 1, 9}}},
		"calls of the tool":        {tool: Tool{MaxCalls: 4}, want: []Charge{{"orders_get", 1, 4}}},
		"once in a run":            {tool: Tool{OncePerRun: true, MaxCalls: 4}, want: []Charge{{"orders_get", 1, 1}}},
		"what it costs":            {policy: Policy{Budget: 9}, tool: Tool{Cost: new(Amount(2))}, want: []Charge{{Cost, 2, 9}}},
		"a cost that is not known": {policy: Policy{Budget: 9}, want: []Charge{{Cost, 0, 9}}},
		"what is free":             {policy: Policy{Budget: 9}, tool: Tool{Cost: new(Amount(0))}},
		"a cost without a budget":  {tool: Tool{Cost: new(Amount(2))}},
		"everything": {
			policy: Policy{MaxCalls: 9, Budget: 9}, tool: Tool{MaxCalls: 4, Cost: new(Amount(2))},
			want: []Charge{{"orders_get", 1, 4}, {Calls, 1, 9}, {Cost, 2, 9}},
		},
		"a further round": {policy: Policy{MaxCalls: 9}, tool: Tool{OncePerRun: true}, sent: true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.policy.Adapters = map[string]Adapter{"orders": {Tools: map[string]Tool{"get": tc.tool}}}
			c := caseOf("ann")
			c.Sent = tc.sent
			if diff := cmp.Diff(tc.want, tc.policy.Charges(c), cmpopts.EquateEmpty()); diff != "" {
				t.Error("-want +got\n" + diff)
			}
		})
	}
}

func TestHowACallIsSettled(t *testing.T) {
	charged := []Charge{{"orders_get", 1, 4}, {Cost, 2, 9}, {Calls, 1, 9}}
	for name, tc := range map[string]struct {
		cost *Amount
		left bool
		said string
		more []Charge
		sum  string
	}{
		"it has not left the host":   {cost: new(Amount(2)), said: "1", more: []Charge{{What: "orders_get", Add: -1}, {What: Cost, Add: -2}, {What: Calls, Add: -1}}},
		"as expected":                {cost: new(Amount(2 * unit)), left: true, sum: "2"},
		"it has cost more":           {cost: new(Amount(2 * unit)), left: true, said: "0.5", more: []Charge{{What: Cost, Add: unit / 2}}, sum: "2.5"},
		"only its adapter says what": {left: true, said: "0.5", more: []Charge{{What: Cost, Add: unit / 2}}, sum: "0.5"},
		"its adapter pays":           {cost: new(Amount(2 * unit)), left: true, said: "-5", sum: "2"},
		"nobody says":                {left: true},
		"far too much":               {cost: new(Amount(2 * unit)), left: true, said: "1e300", more: []Charge{{What: Cost, Add: int64(MaxAmount)}}, sum: "1000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Policy{Budget: 9, Adapters: map[string]Adapter{"orders": {Tools: map[string]Tool{"get": {Cost: tc.cost}}}}}
			more, sum := p.Settle(caseOf("ann"), charged, tc.left, tc.said)
			if diff := cmp.Diff(tc.more, more); diff != "" {
				t.Error("-want +got\n" + diff)
			}
			if sum != tc.sum {
				t.Errorf("it has cost %q, want %q", sum, tc.sum)
			}
		})
	}
}

// used is what a run has used.
type used map[string]int64

func (u used) Used(context.Context, string) (map[string]int64, error) { return u, nil }

type unknown struct{}

func (unknown) Used(context.Context, string) (map[string]int64, error) {
	return nil, errors.New("gone")
}

func TestWhatARunHasUsedIsLookedAtBeforeTheCallIsSent(t *testing.T) {
	adapters := map[string]Adapter{"orders": {Tools: map[string]Tool{"get": {Cost: new(Amount(2 * unit)), MaxCalls: 2}}}}
	for name, tc := range map[string]struct {
		used used
		once bool
		code string
		text string
	}{
		"nothing yet":    {used: used{}},
		"the last":       {used: used{Calls: 4, Cost: 8 * unit, "orders_get": 1}},
		"of the run":     {used: used{Calls: 5}, code: "max_calls", text: "orders_get was not run: this run has made the 5 calls that it may make"},
		"of the tool":    {used: used{"orders_get": 2}, code: "max_calls", text: "orders_get was not run: this run has called it 2 times, as often as it may"},
		"once":           {used: used{"orders_get": 1}, once: true, code: "once_per_run", text: "orders_get was not run: it is called once in a run, and was"},
		"of the budget":  {used: used{Cost: 8*unit + 1}, code: "budget", text: "orders_get was not run: 8.000000001 of the 10 that this run may cost are used, and it costs 2"},
		"another's tool": {used: used{"orders_list": 9}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Policy{MaxCalls: 5, Budget: 10 * unit, Adapters: adapters, Counts: tc.used}
			if tc.once {
				p.Adapters = map[string]Adapter{"orders": {Tools: map[string]Tool{"get": {OncePerRun: true}}}}
			}
			v, err := p.Judge(t.Context(), caseOf("ann"))
			switch {
			case err != nil:
				t.Fatal(err)
			case tc.code == "" && v.Decision != tool.Pass:
				t.Errorf("%+v", v)
			case tc.code != "" && (v.Decision != tool.Refuse || v.Err.Kind != tool.BudgetExceeded || v.Err.Code != tc.code || v.Err.Text != tc.text):
				t.Errorf("%+v: %v", v, v.Err)
			}
		})
	}
	p := Policy{MaxCalls: 5, Counts: unknown{}}
	if _, err := p.Judge(t.Context(), caseOf("ann")); err == nil {
		t.Error("what is not known passes")
	}
}

func TestCallsThatNameNoRunBelongToOneForATimeOnEveryHost(t *testing.T) {
	ann, bob := caseOf("ann").Principal, caseOf("bob").Principal
	p := &Policy{DefaultRun: time.Hour}
	at := func(clock string) time.Time {
		when, err := time.Parse(time.DateTime, "2026-11-30 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	first := p.RunKey(ann, at("10:00:00"))
	if !tool.IsID(tool.PrefixRun, first) {
		t.Errorf("%s is no id", first)
	}
	if again := (&Policy{}).RunKey(ann, at("10:59:59")); again != first {
		t.Error("the run has changed within its hour, or by the default's other spelling")
	}
	seen := []string{first}
	for _, other := range []string{p.RunKey(ann, at("11:00:00")), p.RunKey(bob, at("10:00:00")), (&Policy{DefaultRun: time.Minute}).RunKey(ann, at("10:00:00"))} {
		if slices.Contains(seen, other) {
			t.Error("two runs are one")
		}
		seen = append(seen, other)
	}
}
