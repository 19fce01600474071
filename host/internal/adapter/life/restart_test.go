// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// restarts begins a restart; what came of it can be received once it is over.
func (f *fixture) restarts(ctx context.Context) <-chan error {
	over := make(chan error, 1)
	go func() { over <- f.Restart(ctx) }()
	synctest.Wait()
	return over
}

// expectAnswer expects that a restart is over, and how.
func expectAnswer(t *testing.T, over <-chan error, words string) {
	t.Helper()
	select {
	case err := <-over:
		if (words == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("restarted: %v, want %q", err, words)
		}
	default:
		t.Error("the restart goes on")
	}
}

func TestARestartPutsAFreshInstanceInThePlaceOfTheOldOneAndLosesNoCall(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		old := f.starts("1")
		finish := old.works()
		inFlight := f.calls(tool.Destructive)
		f.launcher.will(takes(5 * time.Second))
		over := f.restarts(t.Context())
		pass(4 * time.Second)
		if s := f.expectState(adapter.Ready); s.PID != 1 || len(over) != 0 {
			t.Errorf("while the fresh one starts: %+v", s)
		}
		pass(time.Second)
		expectAnswer(t, over, "")
		if c := f.calls(tool.ReadOnly); c.look().text != "process 2, attempt 1" {
			t.Errorf("a new call: %+v", c.look())
		}
		if old.drains() != 0 {
			t.Fatal("the old one was drained under its call")
		}
		finish <- nil
		synctest.Wait()
		if inFlight.look().text != "process 1, attempt 1" || !old.over() {
			t.Errorf("the call in flight: %+v", inFlight.look())
		}
		if s := f.expectState(adapter.Ready); s.Crashes != 0 || s.Cause != "" {
			t.Errorf("%+v", s)
		}
	})
}

func TestARestartThatFailsSaysWhyAndTheOldOneServesOn(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		f.launcher.will(fails(errLaunch))
		expectAnswer(t, f.restarts(t.Context()), "cannot be executed")
		f.launcher.will(nil)
		pass(time.Hour)
		if s := f.expectState(adapter.Ready); s.PID != 1 || s.Cause != "" || s.Retry != nil {
			t.Errorf("%+v", s)
		}
		if n := len(f.launcher.starts()); n != 2 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestARestartBringsBackAtOnceWhatWouldWait(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*fixture)
		state  adapter.State
	}{
		"it backs off":    {func(*fixture) {}, adapter.BackingOff},
		"it was given up": {func(*fixture) { pass(time.Hour) }, adapter.Quarantined},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				f.launcher.will(fails(errLaunch))
				f.wants("1")
				tc.before(f)
				f.expectState(tc.state)
				expectAnswer(t, f.restarts(t.Context()), "cannot be executed")
				f.expectState(adapter.BackingOff) // with fresh patience
				f.launcher.will(nil)
				expectAnswer(t, f.restarts(t.Context()), "")
				if s := f.expectState(adapter.Ready); s.Cause != "" || s.Retry != nil {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

func TestWhatWaitsCannotBeRestarted(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.Wait("sql", "secret missing: DSN")
		synctest.Wait()
		expectAnswer(t, f.restarts(t.Context()), "it is waiting: secret missing: DSN")
		f.expectState(adapter.Waiting)
	})
}

func TestARestartIsWaitedForNoLongerThanItsContextAndGoesOn(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		f.launcher.will(takes(5 * time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		over := f.restarts(ctx)
		cancel()
		synctest.Wait()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		pass(5 * time.Second)
		if s := f.expectState(adapter.Ready); s.PID != 2 {
			t.Errorf("%+v", s)
		}
	})
}

func TestManyRestartsAtOnceAreOneOrTwo(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		f.launcher.will(takes(time.Second))
		var all []<-chan error
		for range 10 {
			all = append(all, f.restarts(t.Context()))
		}
		pass(10 * time.Second)
		for _, over := range all {
			expectAnswer(t, over, "")
		}
		if n := len(f.launcher.starts()); n > 3 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestALifeThatEndsAnswersWhoWaitsForARestart(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		f.launcher.will(hangs)
		over := f.restarts(t.Context())
		f.stop()
		synctest.Wait()
		if len(over) != 1 {
			t.Fatal("nobody answers")
		}
		if err := <-over; err == nil {
			t.Error("it says that it was restarted")
		}
		if err := f.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("after the end: %v", err)
		}
	})
}
