// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// What is known of a call that was sent and got no answer depends on three
// things: whether the adapter may have got it, what the adapter says of it, and
// whether the tool has effects.
func TestWithoutAnAnswerACallWithEffectsMayHaveHadThem(t *testing.T) {
	for _, kind := range []tool.Kind{tool.Timeout, tool.Cancelled, tool.AdapterUnavailable} {
		for _, effects := range []tool.Effects{tool.ReadOnly, tool.Additive, tool.Destructive, tool.EffectsUnset} {
			for _, ran := range []tool.Ran{tool.RanUnset, tool.RanNo, tool.RanYes, tool.RanUnknown} {
				for _, sent := range []bool{true, false} {
					want := ending{ledger.Failed, "", kind, "x", ran, 1}
					switch known := ran == tool.RanNo || ran == tool.RanYes; {
					case !sent:
						want.Ran = tool.RanNo
					case effects != tool.ReadOnly && !known:
						want.Outcome, want.Kind, want.Ran = ledger.Unknown, tool.OutcomeUnknown, tool.RanUnknown
					}
					t.Run(fmt.Sprintf("%s, effects %q, ran %q, sent %v", kind, effects, ran, sent), func(t *testing.T) {
						given := &tool.Error{Kind: kind, Code: "x", Text: "no answer", Sent: sent, Ran: ran}
						f := newFixture(t, setting{effects: effects, run: fails(given)})
						_, err := f.Do(t.Context(), callOf(t, `{}`))
						if diff := cmp.Diff(want, endingOf(f.record(t).Row)); diff != "" {
							t.Errorf("record (-want +got):\n%s", diff)
						}
						var e *tool.Error
						if !errors.As(err, &e) || e.Kind != want.Kind || e.Ran != want.Ran {
							t.Fatalf("the caller got %+v", e)
						}
						if e.Kind == tool.OutcomeUnknown && !strings.Contains(e.Text, "find out before calling it again") {
							t.Errorf("text %q", e.Text)
						}
						if given.Kind != kind || given.Ran != ran {
							t.Error("the runner's own error was changed")
						}
					})
				}
			}
		}
	}
}

func TestAnAdapterHasItsTimeoutAndNotMore(t *testing.T) {
	for effects, want := range map[tool.Effects]ending{
		tool.ReadOnly: {ledger.Failed, "", tool.Timeout, "timeout", "", 1},
		tool.Additive: {ledger.Unknown, "", tool.OutcomeUnknown, "timeout", tool.RanUnknown, 1},
	} {
		t.Run(string(effects), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, setting{effects: effects, run: heedsContext, limits: registry.Limits{Timeout: 30 * time.Second}})
				begin := time.Now()
				_, _ = f.Do(t.Context(), callOf(t, `{}`))
				if took := time.Since(begin); took != 30*time.Second {
					t.Errorf("took %v", took)
				}
				if diff := cmp.Diff(want, endingOf(f.record(t).Row)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestTheTimeoutCountsFromTheSendAndNotFromTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works := func(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
			select {
			case <-time.After(20 * time.Second):
				return gives(done)(ctx, a)
			case <-ctx.Done():
				return heedsContext(ctx, a)
			}
		}
		f := newFixture(t, setting{run: works, limits: registry.Limits{Timeout: 30 * time.Second, MaxInFlight: 1}})
		errs := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := f.Do(t.Context(), callOf(t, `{}`))
				errs <- err
			}()
		}
		for range 3 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// The record of a call is written whatever has become of its caller.
func TestACallerThatGoesAwayTakesNoRecordWithIt(t *testing.T) {
	type key struct{}
	for name, tc := range map[string]struct {
		effects tool.Effects
		leave   func(f *fixture, cancel func())
		sent    bool
		want    ending
	}{
		"before the call is sent": {
			tool.Additive,
			func(_ *fixture, cancel func()) { cancel() }, false,
			ending{Outcome: ledger.Refused, Gate: "slot", Kind: tool.Cancelled, Code: "cancelled"},
		},
		"while the intent is written": {
			tool.Additive,
			func(f *fixture, cancel func()) {
				f.journal.begin = func(ctx context.Context, _ Intent) error {
					cancel()
					return fmt.Errorf("begin: %w", ctx.Err())
				}
			}, false,
			ending{Outcome: ledger.Refused, Gate: "begin", Kind: tool.Cancelled, Code: "cancelled"},
		},
		"while a call that reads runs": {
			tool.ReadOnly,
			func(f *fixture, cancel func()) { f.runner.run = leaves(cancel, heedsContext) }, true,
			ending{ledger.Failed, "", tool.Cancelled, "cancelled", "", 1},
		},
		"while a call with effects runs": {
			tool.Additive,
			func(f *fixture, cancel func()) { f.runner.run = leaves(cancel, heedsContext) }, true,
			ending{ledger.Unknown, "", tool.OutcomeUnknown, "cancelled", tool.RanUnknown, 1},
		},
		"while the adapter ends it well all the same": {
			tool.Additive,
			func(f *fixture, cancel func()) { f.runner.run = leaves(cancel, gives(done)) }, true,
			ending{Outcome: ledger.OK, Attempt: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, setting{effects: tc.effects})
			f.journal.end = func(ctx context.Context, _ Record) error {
				if err := ctx.Err(); err != nil {
					t.Errorf("the journal is told to give up: %v", err)
				}
				if ctx.Value(key{}) != "trace" {
					t.Error("the journal has lost what the context carries")
				}
				return nil
			}
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
			defer cancel()
			tc.leave(f, cancel)
			_, _ = f.Do(ctx, callOf(t, `{}`))
			if got := len(f.runner.sent()) == 1; got != tc.sent {
				t.Errorf("sent: %v", got)
			}
			if diff := cmp.Diff(tc.want, endingOf(f.record(t).Row)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !f.slotFree() {
				t.Error("a slot was kept")
			}
		})
	}
}

// leaves is an adapter during whose work the caller goes away.
func leaves(cancel func(), then func(context.Context, *tool.Attempt) (tool.Outcome, error)) func(context.Context, *tool.Attempt) (tool.Outcome, error) {
	return func(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
		cancel()
		return then(ctx, a)
	}
}

// One slot, and four places in the queue.
func TestCallsBeyondTheSlotsWaitAndBeyondTheQueueAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setting{effects: tool.Additive, limits: registry.Limits{MaxInFlight: 1}})
		work := make(chan struct{})
		f.runner.run = func(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
			<-work
			return gives(done)(ctx, a)
		}
		do := func(ctx context.Context) { _, _ = f.Do(ctx, callOf(t, `{}`)) }
		go do(t.Context())
		synctest.Wait()
		quits, quit := context.WithCancel(t.Context())
		late, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		for _, ctx := range []context.Context{quits, late, t.Context(), t.Context()} {
			go do(ctx)
		}
		synctest.Wait()

		_, err := f.Do(t.Context(), callOf(t, `{}`))
		var e *tool.Error
		if !errors.As(err, &e) || e.RetryAfter != time.Second {
			t.Errorf("the caller got %+v", err)
		}
		slot := func(kind tool.Kind, code string) ending {
			return ending{Outcome: ledger.Refused, Gate: "slot", Kind: kind, Code: code}
		}
		for _, step := range []struct {
			what func()
			want ending
		}{
			{func() {}, slot(tool.RateLimited, "adapter_busy")},
			{quit, slot(tool.Cancelled, "cancelled")},
			{func() { time.Sleep(time.Second) }, slot(tool.Timeout, "timeout")},
		} {
			step.what()
			synctest.Wait()
			if diff := cmp.Diff(step.want, endingOf(f.record(t).Row)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		for range 3 { // the first, and the two that still wait
			work <- struct{}{}
			synctest.Wait()
			if diff := cmp.Diff(ending{Outcome: ledger.OK, Attempt: 1}, endingOf(f.record(t).Row)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		if n := len(f.runner.sent()); n != 3 {
			t.Errorf("%d were sent, want 3", n)
		}
	})
}
