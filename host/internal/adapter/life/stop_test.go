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

func TestWaitDrainsWhatRunsAndSaysWhatIsMissing(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		finish := in.works()
		c := f.calls(tool.ReadOnly)
		f.Wait("sql", "there is no plugin sql in /p")
		synctest.Wait()
		s := f.expectState(adapter.Waiting)
		if s.Cause != "there is no plugin sql in /p" || s.Plugin != "sql" || s.PID != 0 || s.Tools != 0 || !s.Tried {
			t.Errorf("%+v", s)
		}
		if n := f.offered(); n != 0 {
			t.Errorf("%d tools are offered", n)
		}
		if in.drains() != 0 {
			t.Fatal("it was drained under its call")
		}
		finish <- nil
		synctest.Wait()
		if c.look().text != "process 1, attempt 1" || in.drains() != 1 {
			t.Errorf("%d drains, %+v", in.drains(), c.look())
		}
		f.starts("1") // and it may come back
	})
}

func TestWaitBeforeAnythingElseIsATry(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.Wait("sql", "secret missing: ${DSN}")
		synctest.Wait()
		if s := f.expectState(adapter.Waiting); !s.Tried || s.Cause != "secret missing: ${DSN}" {
			t.Errorf("%+v", s)
		}
	})
}

func TestWaitEndsTheTriesOfWhatDidNotStart(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(fails(errLaunch))
		f.wants("1")
		f.Wait("sql", "there is no plugin sql")
		pass(time.Hour)
		f.expectState(adapter.Waiting)
		if n := len(f.launcher.starts()); n != 1 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestStopReturnsOnceCallsHaveEndedAndNothingRuns(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		finish := in.works()
		c := f.calls(tool.ReadOnly)
		stopped := make(chan error, 1)
		go func() { stopped <- f.Stop(context.Background()) }()
		synctest.Wait()
		f.expectState(adapter.Draining)
		if _, _, ok := f.registry.Acquire("orders_get"); ok {
			t.Error("it takes new calls")
		}
		pass(10 * time.Second)
		select {
		case <-stopped: //nolint:errcheck // whatever it says
			t.Fatal("it has stopped under a call")
		default:
		}
		finish <- nil
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		f.expectState(adapter.Stopped)
		if c.look().text != "process 1, attempt 1" || !in.over() {
			t.Errorf("%+v", c.look())
		}
		select {
		case <-f.Done():
		default:
			t.Error("the life goes on")
		}
	})
}

func TestStopDoesNotWaitForAStartThatHangs(t *testing.T) {
	for name, prepare := range map[string]func(*fixture){
		"the first": func(f *fixture) { f.launcher.will(hangs) },
		"one without a catalogue": func(f *fixture) {
			f.launcher.will(func(context.Context, *adapter.Desired) (*instance, error) { return silent(), nil })
		},
		"of a swap": func(f *fixture) {
			f.starts("1")
			f.launcher.will(hangs)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				prepare(f)
				f.wants("2")
				began := time.Now()
				if err := f.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestStopDoesNotWaitForAPause(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(fails(errLaunch))
		f.wants("1")
		began := time.Now()
		f.stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAfterTheEndNothingIsWanted(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		f.stop()
		f.wants("2")
		f.Wait("sql", "gone")
		pass(time.Hour)
		f.expectState(adapter.Stopped)
		if n := len(f.launcher.starts()); n != 1 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestAnInstanceThatIsSlowToEndIsEndedByForce(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := newInstance("get")
		in.slow = true
		f.launcher.will(gives(in))
		f.starts("1")
		began := time.Now()
		f.stop()
		if took := time.Since(began); took != drainGrace {
			t.Errorf("it took %v", took)
		}
	})
}

func TestACallThatWaitsWhenTheLifeEndsFailsFast(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		f.launcher.will(hangs)
		in.crash()
		synctest.Wait()
		c := f.calls(tool.ReadOnly)
		f.stop()
		synctest.Wait()
		if !c.look().over || c.look().err == nil || c.look().err.Kind != tool.AdapterUnavailable {
			t.Errorf("%+v", c.look())
		}
	})
}

func TestACallThatComesTooLateIsNotGivenToAnInstanceThatIsDrained(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		first := f.starts("1")
		e, release, _ := f.registry.Acquire("orders_get")
		first.crash()
		synctest.Wait()
		second := f.launcher.instances()[1]
		finish := second.works()
		c := f.calls(tool.ReadOnly)
		go f.Stop(context.Background()) //nolint:errcheck // stopped again by the fixture
		synctest.Wait()
		f.expectState(adapter.Draining)

		_, err := e.Runner.Run(t.Context(), &tool.Attempt{Call: &tool.Call{}, N: 1, Spec: e.Spec})
		if failed := tool.AsError(err); failed == nil || failed.Kind != tool.AdapterUnavailable || failed.Sent {
			t.Errorf("%v", err)
		}
		release()
		finish <- nil
		synctest.Wait()
		if c.look().text != "process 2, attempt 1" {
			t.Errorf("%+v", c.look())
		}
	})
}
