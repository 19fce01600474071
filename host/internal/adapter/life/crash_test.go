// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// crash crashes what runs.
func (f *fixture) crash() {
	f.t.Helper()
	f.expectState(adapter.Ready)
	all := f.launcher.instances()
	all[len(all)-1].crash()
	synctest.Wait()
}

func TestACrashIsFollowedByARestartAtOnce(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		first := f.starts("1")
		f.launcher.will(takes(time.Second))
		f.crash()
		s := f.expectState(adapter.Starting)
		if s.PID != 0 || s.Crashes != 1 || s.Cause != "it ended by itself: exit status 3" {
			t.Errorf("%+v", s)
		}
		if first.drains() != 1 {
			t.Error("its remains were not drained")
		}
		if _, listed := f.registry.Snapshot().Find("orders_get"); !listed {
			t.Error("its tools are not listed while it restarts")
		}
		pass(time.Second)
		if s := f.expectState(adapter.Ready); s.PID != 2 || s.Crashes != 1 || s.Cause != "" {
			t.Errorf("%+v", s)
		}
	})
}

// The limit of these tests is 2 restarts within a minute.
func TestCrashesBeyondTheLimitWithinAMinuteAreFollowedByPauses(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		f.crash()
		f.crash()
		f.crash()
		s := f.expectState(adapter.BackingOff)
		if s.Retry == nil || !s.Retry.After(time.Now()) || s.Crashes != 3 || s.Cause != "it ended by itself: exit status 3" {
			t.Errorf("%+v", s)
		}
		if n := len(f.launcher.starts()); n != 3 {
			t.Errorf("%d starts", n)
		}
		pass(time.Until(*s.Retry) - time.Nanosecond)
		f.expectState(adapter.BackingOff)
		pass(time.Nanosecond)
		if s := f.expectState(adapter.Ready); s.Retry != nil || s.Cause != "" {
			t.Errorf("%+v", s)
		}
	})
}

func TestAnAdapterThatCrashesAgainAndAgainIsGivenUp(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		for f.now().State == adapter.Ready {
			f.crash()
			if s := f.now(); s.State == adapter.BackingOff {
				pass(time.Until(*s.Retry))
			}
		}
		if s := f.expectState(adapter.Quarantined); s.Retry != nil || s.Crashes != 2+patience+1 {
			t.Errorf("%+v", s)
		}
		starts := len(f.launcher.starts())
		pass(24 * time.Hour)
		f.wants("1")
		if n := len(f.launcher.starts()) - starts; n != 0 {
			t.Errorf("%d starts after it was given up", n)
		}
		f.wants("2")
		f.expectState(adapter.Ready)
	})
}

func TestCrashesThatAreRareAreRestartedAtOnceForEver(t *testing.T) {
	lived(t, func(_ *testing.T, f *fixture) {
		f.starts("1")
		for range 100 { // never more than two within a minute
			pass(31 * time.Second)
			f.crash()
			f.expectState(adapter.Ready)
		}
	})
}

func TestACalmMinuteForgetsWhatWasBefore(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		var pauses []time.Duration
		for range 2 * (patience + 1) { // would be given up in between
			f.crash()
			f.crash()
			f.crash()
			s := f.expectState(adapter.BackingOff)
			pauses = append(pauses, time.Until(*s.Retry))
			pass(time.Until(*s.Retry))
			pass(calm)
		}
		for _, p := range pauses {
			if p > 2*time.Second {
				t.Errorf("pauses grow: %v", pauses)
				break
			}
		}
	})
}

func TestACrashDuringAPauseOfASwapLetsTheNewOneBeTriedAtOnce(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		old := f.starts("1")
		f.launcher.will(fails(errLaunch))
		f.wants("2")
		s := f.expectState(adapter.Ready)
		if s.Retry == nil {
			t.Fatal("nobody is told when the new one is tried again")
		}
		f.launcher.will(nil)
		old.crash()
		synctest.Wait()
		if s := f.expectState(adapter.Ready); s.Path != "/p/2" || s.Crashes != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestACrashOfTheOldOneAfterTheNewOneWasGivenUp(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		old := f.starts("1")
		f.launcher.will(fails(errLaunch))
		f.wants("2")
		pass(time.Hour)
		f.expectState(adapter.Ready)
		starts := len(f.launcher.starts())
		old.crash()
		synctest.Wait()
		f.expectState(adapter.Quarantined)
		if n := len(f.launcher.starts()) - starts; n != 1 {
			t.Errorf("the new one was tried %d times more, want once", n)
		}
	})
}

func TestACrashInTheMiddleOfARestartIsOneMoreCrash(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		starts := 0
		f.launcher.will(func(context.Context, *adapter.Desired) (*instance, error) {
			if starts++; starts == 1 {
				return nil, errEnded
			}
			return newInstance("get"), nil
		})
		in.crash()
		synctest.Wait()
		if s := f.expectState(adapter.Ready); s.Crashes != 2 || s.Cause != "" {
			t.Errorf("%+v", s)
		}
		f.crash() // the third within a minute
		if s := f.expectState(adapter.BackingOff); s.Crashes != 3 {
			t.Errorf("%+v", s)
		}
	})
}

func TestRestartsThatCrashAreFollowedByPausesBeyondTheLimitAndGivenUp(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		f.launcher.will(fails(errEnded))
		in.crash()
		synctest.Wait()
		s := f.expectState(adapter.BackingOff)
		if s.Crashes != 2 || s.Cause != errEnded.Error() || len(f.launcher.starts()) != 3 {
			t.Errorf("%d starts, %+v", len(f.launcher.starts()), s)
		}
		pass(time.Hour)
		f.expectState(adapter.Quarantined)
	})
}

func TestAFirstStartThatCrashesIsFollowedByAPause(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(fails(errEnded))
		f.wants("1")
		if s := f.expectState(adapter.BackingOff); s.Crashes != 0 || len(f.launcher.starts()) != 1 {
			t.Errorf("%d starts, %+v", len(f.launcher.starts()), s)
		}
	})
}

func TestACrashDuringASwapIsNoticedAtOnceAndItsCallsGoToTheNewOne(t *testing.T) {
	for _, effects := range []tool.Effects{tool.ReadOnly, tool.Destructive} {
		t.Run(string(effects), func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				old := f.starts("1")
				f.launcher.will(takes(4 * time.Second))
				f.wants("2")
				pass(time.Second)
				old.crash()
				synctest.Wait()
				s := f.expectState(adapter.Starting)
				if s.PID != 0 || s.Crashes != 1 || s.Path != "/p/2" || s.Cause != "it ended by itself: exit status 3" || old.drains() != 1 {
					t.Errorf("%d drains, %+v", old.drains(), s)
				}
				if _, listed := f.registry.Snapshot().Find("orders_get"); !listed {
					t.Error("its tools are not listed while the new one starts")
				}
				c := f.calls(effects)
				pass(3 * time.Second)
				if c.look().text != "process 2, attempt 1" {
					t.Errorf("%+v", c.look())
				}
				if s := f.expectState(adapter.Ready); s.PID != 2 || s.Crashes != 1 || s.Cause != "" {
					t.Errorf("%+v", s)
				}
				if n := len(f.launcher.starts()); n != 2 {
					t.Errorf("%d starts", n)
				}
			})
		})
	}
}

func TestACallOfAnOldOneThatCrashesDuringASwapIsToldAtOnceThatTheNewOneFails(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		state adapter.State
	}{
		"it does not start":      {errLaunch, adapter.BackingOff},
		"it is refused":          {errRefused, adapter.Failed},
		"it needs configuration": {&adapter.NeedsConfigError{Plugin: "sql"}, adapter.Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				old := f.starts("1")
				f.launcher.will(func(context.Context, *adapter.Desired) (*instance, error) {
					time.Sleep(2 * time.Second)
					return nil, tc.err
				})
				f.wants("2")
				old.crash()
				c := f.calls(tool.ReadOnly)
				pass(2*time.Second - time.Nanosecond)
				if c.look().over {
					t.Fatalf("it did not wait for the new one: %+v", c.look())
				}
				pass(time.Nanosecond)
				if !c.look().over || c.look().err == nil || c.look().err.Kind != tool.AdapterUnavailable || c.look().err.Sent {
					t.Errorf("%+v", c.look())
				}
				if s := f.expectState(tc.state); s.PID != 0 || s.Crashes != 1 || s.Cause != tc.err.Error() {
					t.Errorf("%+v", s)
				}
				if d := f.calls(tool.ReadOnly).look(); !d.over || d.err == nil || d.err.Kind != tool.AdapterUnavailable {
					t.Errorf("a later call: %+v", d)
				}
			})
		})
	}
}

func TestAnOldOneThatDiesWhileTheNewOneFailsIsDrainedToo(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		old := f.starts("1")
		f.launcher.will(hangs)
		f.wants("2")
		old.crash()
		pass(10 * time.Second) // the start timeout of the new one
		if s := f.now(); s.Crashes != 1 {
			t.Errorf("%+v", s)
		}
		if old.drains() == 0 {
			t.Error("its remains are left")
		}
	})
}

func TestWhatAnotherVersionDidIsNotHeldAgainstTheOneThatServes(t *testing.T) {
	lived(t, func(_ *testing.T, f *fixture) {
		f.starts("1")
		f.launcher.will(fails(errLaunch))
		f.wants("2")
		pass(time.Hour) // until it is given up
		f.launcher.will(nil)
		f.wants("1")
		f.crash()
		f.crash()
		f.crash()
		f.expectState(adapter.BackingOff)
	})
}

func TestACrashAtTheMomentOfAWantIsCounted(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		for n := range 100 {
			in := f.starts("1")
			in.crash()
			f.Want(version("1")) // both are there when the life looks
			synctest.Wait()
			if s := f.now(); s.Crashes != n+1 {
				t.Fatalf("%d crashes are counted, there were %d", s.Crashes, n+1)
			}
			pass(calm)
		}
	})
}

func TestACrashedAdapterThatIsNotWantedAnyMoreIsNotRestarted(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		in.crash()
		f.Wait("sql", "there is no plugin sql")
		synctest.Wait()
		f.expectState(adapter.Waiting)
		if n := f.offered(); n != 0 {
			t.Errorf("%d tools are offered", n)
		}
		for range f.launcher.starts()[1:] { // at most one was begun in between
			pass(time.Hour)
			f.expectState(adapter.Waiting)
		}
	})
}

func TestACallThatRunsIntoACrashLoopFailsFast(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		f.crash()
		f.crash()
		f.crash()
		s := f.expectState(adapter.BackingOff)
		c := f.calls(tool.ReadOnly)
		if !c.look().over || c.look().err == nil || c.look().err.Kind != tool.AdapterUnavailable || c.look().err.Sent {
			t.Fatalf("%+v", c.look())
		}
		if want := max(time.Until(*s.Retry), time.Second); c.look().err.RetryAfter != want {
			t.Errorf("told to try again after %v, want %v", c.look().err.RetryAfter, want)
		}
	})
}
