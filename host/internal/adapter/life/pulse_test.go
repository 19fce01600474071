// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// untilIll is how long it takes until an instance that hangs is ended: three
// intervals, and the time that the last check has.
var untilIll = time.Duration(steady.Misses)*steady.Every + steady.Within

func TestAnInstanceThatHangsIsEndedAndAnotherOneStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		ill  error
		last time.Duration // that the last check takes
	}{
		"it does not answer":     {errHangs, steady.Within},
		"it says that it is ill": {errors.New("NOT_SERVING"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				first := f.starts("1")
				first.falls(tc.ill)
				first.works()
				reads, writes := f.calls(tool.ReadOnly), f.calls(tool.Additive)
				pass(time.Duration(steady.Misses)*steady.Every - time.Nanosecond)
				f.expectState(adapter.Ready)
				if first.over() || reads.look().over || writes.look().over {
					t.Fatal("it was ended before its time")
				}
				f.launcher.will(takes(time.Second))
				pass(tc.last + time.Nanosecond)
				s := f.expectState(adapter.Starting)
				if s.Crashes != 1 || !strings.HasPrefix(s.Cause, "it was ended: it did not answer 3 health checks in a row: ") {
					t.Errorf("%+v", s)
				}
				pass(time.Second)
				if s := f.expectState(adapter.Ready); s.PID != 2 || s.Cause != "" {
					t.Errorf("%+v", s)
				}
				if c := reads.look(); c.text != "process 2, attempt 2" {
					t.Errorf("a call that reads: %+v", c)
				}
				if c := writes.look(); c.err == nil || c.err.Kind != tool.AdapterUnavailable || !c.err.Sent {
					t.Errorf("a call with effects: %+v", c)
				}
			})
		})
	}
}

func TestAnInstanceThatIsSlowNowAndThenServesOn(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		for range 5 {
			in.falls(errHangs)
			pass(time.Duration(steady.Misses-1) * steady.Every)
			in.falls(nil)
			pass(steady.Within + steady.Every)
		}
		if s := f.expectState(adapter.Ready); s.PID != 1 || s.Crashes != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestOneThatHangsWhileItsSuccessorStartsIsEnded(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		old := f.starts("1")
		old.falls(errHangs)
		pass(steady.Every * 2)
		f.launcher.will(hangs)
		f.Want(&adapter.Desired{
			Name: "orders", Program: adapter.Program{Plugin: "sql", Path: "/p/2", Stamp: "2"}, Prefix: "orders_",
			Limits: adapter.Limits{Timeout: time.Second, Restarts: 2, StartTimeout: time.Hour},
		})
		pass(untilIll - steady.Every*2)
		if s := f.expectState(adapter.Starting); s.Crashes != 1 || !old.over() {
			t.Errorf("%+v", s)
		}
	})
}

func TestWhatIsDrainedIsNotAskedForItsHealth(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		old := f.starts("1")
		old.works()
		f.calls(tool.ReadOnly) // holds it
		f.wants("2")
		_, before := old.counts()
		pass(steady.Every * 2)
		if _, asked := old.counts(); asked != before {
			t.Errorf("it was asked %d times", asked-before)
		}
	})
}

func TestThePulseCanBeAnother(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		other := New(Config{
			Name: "shop", Launcher: &launcher{}, Registry: f.registry, Log: f.config.Log,
			Pulse: Pulse{Every: time.Second, Within: time.Second, Misses: 1},
		})
		d := version("1")
		d.Name, d.Prefix = "shop", "shop_"
		other.Want(d)
		synctest.Wait()
		in := other.config.Launcher.(*launcher).instances()[0]
		in.falls(errHangs)
		pass(2 * time.Second)
		if s, _ := other.Status(); s.Crashes != 1 || s.PID != 2 {
			t.Errorf("%+v", s)
		}
		if err := other.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAStreamOfCataloguesThatBreaksOffIsOpenedAgain(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		in.breaks()
		synctest.Wait()
		if s := f.expectState(adapter.Ready); s.Cause != "its newest catalogue was not taken: the stream broke off" {
			t.Errorf("%+v", s)
		}
		pass(10 * time.Minute)
		if opened, _ := in.counts(); opened < 5 || opened > 25 {
			t.Errorf("opened %d times within ten minutes", opened)
		}
		in.mends("put", "post")
		pass(2 * slowest)
		if s := f.expectState(adapter.Ready); s.Cause != "" || s.Tools != 2 || s.PID != 1 || s.Crashes != 0 {
			t.Errorf("%+v", s)
		}
	})
}
