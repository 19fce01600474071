// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/cache"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/redact"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// caching is a fixture whose tool's answers are kept for a minute, and tells each
// time how often it was asked.
func caching(t *testing.T, s setting, terms cache.Terms) *fixture {
	t.Helper()
	if s.run == nil {
		var n atomic.Int64
		s.run = func(context.Context, *tool.Attempt) (tool.Outcome, error) {
			return &tool.Result{Content: []tool.Content{text("answer " + strconv.FormatInt(n.Add(1), 10))}, Cost: "1"}, nil
		}
	}
	if terms.TTL == 0 {
		terms.TTL = time.Minute
	}
	f := newFixture(t, s)
	f.Answers = cache.New(cache.Default)
	p := *f.Policy()
	p.Cache = cache.Policy{"orders": {"get": terms}}
	f.SetPolicy(&p)
	return f
}

// says is what a call is answered, with a mark if it was answered before.
func (f *fixture) says(t testing.TB, call *tool.Call) string {
	t.Helper()
	out, err := f.Do(t.Context(), call)
	if err != nil {
		if e, ok := errors.AsType[*tool.Error](err); ok {
			if e.Code == string(e.Kind) {
				return e.Code
			}
			return string(e.Kind) + " " + e.Code
		}
		return err.Error()
	}
	r, ok := out.(*tool.Result)
	if !ok {
		return fmt.Sprintf("%T", out)
	}
	said := ""
	for _, block := range r.Content {
		if b, ok := block.(*tool.Text); ok {
			said += b.Text
		}
	}
	if r.Cached {
		said += ", cached"
	}
	return said
}

func TestAnEqualCallIsAnsweredAsTheOneBeforeAndRecorded(t *testing.T) {
	f := caching(t, setting{effects: tool.ReadOnly, limits: registry.Limits{MaxInFlight: 1}}, cache.Terms{})
	p := *f.Policy()
	p.Limits = &limit.Policy{Rate: limit.Rate{N: 2, Per: time.Hour}, MaxCalls: 2, Rates: &limit.Rates{}}
	f.SetPolicy(&p)
	for i, c := range []struct{ args, want string }{
		{`{"n":1}`, "answer 1"},
		{`{"n":1.0}`, "answer 1, cached"},
		{`{"n":2}`, "answer 2"},
	} {
		f.journal.taken()
		if got := f.says(t, callOf(t, c.args)); got != c.want {
			t.Errorf("call %d: %s, want %s", i+1, got, c.want)
		}
		intents, records := f.journal.taken()
		cached := strings.HasSuffix(c.want, "cached")
		want := ending{ledger.OK, "", "", "", "", 1}
		if cached {
			want = ending{ledger.OK, "cache", "", "", "", 0}
		}
		if diff := cmp.Diff(want, endingOf(records[0].Row)); diff != "" || len(records) != 1 || (len(intents) == 0) != cached {
			t.Errorf("call %d: %d intents, %d records, -want +got\n%s", i+1, len(intents), len(records), diff)
		}
		if cost := records[0].Cost; (cost == "") != cached || records[0].ResultBytes == 0 {
			t.Errorf("call %d is recorded with cost %q, %d bytes", i+1, cost, records[0].ResultBytes)
		}
	}
}

func TestAnAnswerIsItsCallersUnlessItIsShared(t *testing.T) {
	for _, shared := range []bool{false, true} {
		f := caching(t, setting{effects: tool.ReadOnly}, cache.Terms{Shared: shared})
		got := []string{f.says(t, callOf(t, `{}`))}
		bobs := callOf(t, `{}`)
		bobs.Principal.Subject = "bob"
		got = append(got, f.says(t, bobs))
		want := []string{"answer 1", "answer 2"}
		if shared {
			want[1] = "answer 1, cached"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("shared %v: -want +got\n%s", shared, diff)
		}
	}
}

func TestTheGatesJudgeACallThatIsAnsweredAsTheOneBefore(t *testing.T) {
	deny := false
	f := caching(t, setting{effects: tool.ReadOnly, gates: []Gate{gate{"rules", func(*tool.Case) (tool.Verdict, error) {
		if deny {
			return tool.Refused("no", tool.Errorf(tool.Denied, "no", "no")), nil
		}
		return tool.Passed(""), nil
	}}}}, cache.Terms{})
	if got := f.says(t, callOf(t, `{}`)); got != "answer 1" {
		t.Error(got)
	}
	deny = true
	if got := f.says(t, callOf(t, `{}`)); got != "denied no" {
		t.Error(got)
	}
}

func TestWhatIsNeverAnsweredAsTheOneBefore(t *testing.T) {
	confirm := true
	for name, tc := range map[string]struct {
		effects tool.Effects
		gates   []Gate
	}{
		"what has effects":          {effects: tool.Additive},
		"what may have effects":     {effects: tool.EffectsUnset},
		"what somebody has decided": {effects: tool.ReadOnly, gates: []Gate{says("rules", tool.Verdict{Decision: tool.Pass, Confirm: &confirm}, nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			f := caching(t, setting{effects: tc.effects, gates: tc.gates}, cache.Terms{})
			for i := range 2 {
				if got, want := f.says(t, callOf(t, `{}`)), fmt.Sprintf("answer %d", i+1); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
}

func TestOnlyAnAnswerThatIsGivenIsKept(t *testing.T) {
	for name, tc := range map[string]struct {
		setting setting
		want    string
	}{
		"an error of the tool":     {setting{run: fails(&tool.Error{Kind: tool.ToolError, Code: "x", Sent: true})}, "tool_error x"},
		"not what its schema says": {setting{output: `{"type":"object"}`}, "output_invalid"},
		"too large":                {setting{max: 1, run: gives(&tool.Result{Content: []tool.Content{&tool.Blob{Kind: "image", Data: []byte("xxxx")}}})}, "result_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.setting.effects = tool.ReadOnly
			f := caching(t, tc.setting, cache.Terms{})
			for range 2 {
				if got := f.says(t, callOf(t, `{}`)); got != tc.want {
					t.Errorf("%s, want %s", got, tc.want)
				}
			}
			if n := len(f.runner.sent()); n != 2 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

func TestAnswersAreForgottenWhenTheirAdapterHasChangedOrSaysSo(t *testing.T) {
	var n atomic.Int64
	f := caching(t, setting{effects: tool.ReadOnly, run: func(context.Context, *tool.Attempt) (tool.Outcome, error) {
		return &tool.Result{Content: []tool.Content{text("answer " + strconv.FormatInt(n.Add(1), 10))}}, nil
	}}, cache.Terms{})
	o, _ := f.Registry.Snapshot().Find("orders_get")
	offer := func(change func(o *registry.Offer)) {
		get, add := *o, *o
		change(&get)
		add.Spec.Name, add.Spec.Declared, add.Spec.Effects, add.Alias = "orders_add", "add", tool.Additive, ""
		get.Spec.Seal()
		add.Spec.Seal()
		if _, err := f.Registry.Replace("orders", f.runner, []*registry.Offer{&get, &add}); err != nil {
			t.Fatal(err)
		}
	}
	fresh := func(what string) {
		t.Helper()
		before := n.Load()
		first, second := f.says(t, callOf(t, `{}`)), f.says(t, callOf(t, `{}`))
		if want := fmt.Sprintf("answer %d", before+1); first != want || second != want+", cached" {
			t.Errorf("%s: %s, then %s; want %s", what, first, second, want)
		}
	}
	offer(func(*registry.Offer) {})
	fresh("at first")
	offer(func(o *registry.Offer) { o.Spec.Description = "another" })
	fresh("another spec")
	offer(func(o *registry.Offer) { o.Spec.Description = "another"; o.Origin = tool.Digest{1} })
	fresh("another program or configuration")
	f.Answers.Forget("orders")
	fresh("it says that its data has changed")
	add := callOf(t, `{}`)
	add.Name = "orders_add"
	f.says(t, add)
	fresh("a call has changed its data")
}

// guard is a hook that withholds what has a word in it, and marks the rest.
type guard struct{ word string }

func (guard) Name() string   { return "hook:guard" }
func (guard) Origin() string { return "guard" }

func (guard) Judge(context.Context, *tool.Case) (tool.Verdict, error) { return tool.Passed(""), nil }

func (g guard) Apply(_ context.Context, _ *tool.Case, r *tool.Result) error {
	b, ok := r.Content[0].(*tool.Text)
	if ok && strings.Contains(b.Text, g.word) {
		return tool.Errorf(tool.Denied, "withheld", "withheld")
	}
	r.Content = append(r.Content, text(" seen"))
	return nil
}

func TestAnAnswerIsGivenOnceMoreThroughTheFiltersOfTheMoment(t *testing.T) {
	const secret, hosts = "a secret of the adapter", "a secret of the host itself"
	red := &redact.Redactor{}
	f := caching(t, setting{effects: tool.ReadOnly, run: gives(&tool.Result{
		Content: []tool.Content{text("it is " + secret + " and " + hosts + " and a secret of another")},
	})}, cache.Terms{})
	f.Redactor = red
	red.Set("stock", []string{"a secret of another"}) // what it has is no concern of others
	say := func(want string) {
		t.Helper()
		if got := f.says(t, callOf(t, `{}`)); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	say("it is " + secret + " and " + hosts + " and a secret of another")
	red.Set("orders", []string{secret})
	say("it is [redacted] and " + hosts + " and a secret of another, cached")
	red.SetHost([]string{hosts})
	say("it is [redacted] and [redacted] and a secret of another, cached")
	hooked := func(h Hook) {
		p := *f.Policy()
		p.Hooks = []Hook{h}
		f.SetPolicy(&p)
	}
	hooked(guard{"nothing"})
	say("it is [redacted] and [redacted] and a secret of another seen, cached")
	say("it is [redacted] and [redacted] and a secret of another seen, cached")
	hooked(guard{"secret of another"})
	say("denied withheld")
	if n := len(f.runner.sent()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

func TestEqualCallsOnTheirWayAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		f := caching(t, setting{effects: tool.ReadOnly, limits: registry.Limits{MaxInFlight: 1}, run: func(ctx context.Context, _ *tool.Attempt) (tool.Outcome, error) {
			select {
			case <-answer:
				return &tool.Result{Content: []tool.Content{text("one")}}, nil
			case <-ctx.Done():
				return nil, tool.Interrupted(ctx, "working")
			}
		}}, cache.Terms{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		call := func(ctx context.Context) {
			out, err := f.Do(ctx, callOf(t, `{}`))
			r, ok := out.(*tool.Result)
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprintf("result %v, cached %v, error %v", ok, ok && r.Cached, err != nil)]++
		}
		first, leave := context.WithCancel(t.Context())
		wg.Go(func() { call(first) })
		synctest.Wait()
		for range 63 {
			wg.Go(func() { call(t.Context()) })
		}
		synctest.Wait()
		leave() // who has sent it does not wait any more; the others do
		synctest.Wait()
		close(answer)
		wg.Wait()
		want := map[string]int{"result true, cached false, error false": 1, "result true, cached true, error false": 63}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error("-want +got\n" + diff)
		}
		if n := len(f.runner.sent()); n != 1 {
			t.Errorf("sent %d times", n)
		}
		sent := 0
		_, records := f.journal.taken()
		for _, r := range records {
			sent += r.Attempt
		}
		if len(records) != 64 || sent != 1 {
			t.Errorf("%d records, of them sent %d", len(records), sent)
		}
	})
}

func TestACallThatNobodyWaitsForIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := caching(t, setting{effects: tool.ReadOnly, run: heedsContext}, cache.Terms{})
		var ends []context.CancelFunc
		var wg sync.WaitGroup
		for range 3 {
			ctx, end := context.WithCancel(t.Context())
			ends = append(ends, end)
			wg.Go(func() {
				if _, err := f.Do(ctx, callOf(t, `{}`)); err == nil {
					t.Error("no error")
				}
			})
			synctest.Wait()
		}
		for _, end := range ends {
			end()
			synctest.Wait()
		}
		wg.Wait() // or synctest finds a deadlock
		if n := len(f.runner.sent()); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

func TestWhoeverHearsOfProgressIsNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		f := caching(t, setting{effects: tool.ReadOnly, run: func(context.Context, *tool.Attempt) (tool.Outcome, error) {
			<-answer
			return &tool.Result{}, nil
		}}, cache.Terms{})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				call := callOf(t, `{}`)
				call.Events = func(tool.Event) {}
				if _, err := f.Do(t.Context(), call); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(f.runner.sent()); n != 3 {
			t.Errorf("sent %d times", n)
		}
		close(answer)
		wg.Wait()
	})
}

func TestWhatConcernsOnlyTheOneThatWasSentIsNotWhatTheOthersGet(t *testing.T) {
	for name, tc := range map[string]struct {
		run  func(context.Context, *tool.Attempt) (tool.Outcome, error)
		want string
		sent int
	}{
		"it was not sent":  {fails(tool.Errorf(tool.AdapterUnavailable, "x", "x")), "adapter_unavailable x", 4},
		"its adapter asks": {func(context.Context, *tool.Attempt) (tool.Outcome, error) { return &tool.Question{}, nil }, "denied may_not_ask", 4},
		"it has panicked":  {func(context.Context, *tool.Attempt) (tool.Outcome, error) { panic("x") }, "tool_failed internal", 4},
		"the tool refuses": {fails(&tool.Error{Kind: tool.ToolError, Code: "x", Sent: true}), "tool_error x", 1}, // for all
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := make(chan struct{})
				f := caching(t, setting{effects: tool.ReadOnly, run: func(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
					<-answer
					return tc.run(ctx, a)
				}}, cache.Terms{})
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						if got := f.says(t, callOf(t, `{}`)); got != tc.want {
							t.Errorf("%s, want %s", got, tc.want)
						}
					})
				}
				synctest.Wait()
				close(answer)
				wg.Wait()
				if n := len(f.runner.sent()); n != tc.sent {
					t.Errorf("sent %d times, want %d", n, tc.sent)
				}
				_, records := f.journal.taken()
				for _, r := range records {
					if r.Outcome != ledger.Failed {
						t.Errorf("recorded as %+v", endingOf(r.Row))
					}
				}
			})
		})
	}
}

func TestExplainSaysWhetherAnAnswerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := caching(t, setting{effects: tool.ReadOnly}, cache.Terms{})
		last := func() Step {
			e, err := f.Explain(t.Context(), callOf(t, `{}`))
			if err != nil {
				t.Fatal(err)
			}
			return e.Steps[len(e.Steps)-1]
		}
		if got, want := last(), (Step{Gate: "cache", Verdict: tool.Pass, Reason: "no answer is kept; this one would be for 1m0s"}); got != want {
			t.Errorf("%+v", got)
		}
		f.says(t, callOf(t, `{}`))
		time.Sleep(3 * time.Second)
		if got, want := last(), (Step{Gate: "cache", Verdict: tool.Pass, Reason: "the answer of 3s ago would be given"}); got != want {
			t.Errorf("%+v", got)
		}
		f = caching(t, setting{effects: tool.Additive}, cache.Terms{})
		if got, want := last(), (Step{Gate: "cache", Verdict: tool.Pass, Reason: "its effects are additive, and only answers of read_only tools are kept"}); got != want {
			t.Errorf("%+v", got)
		}
	})
}
