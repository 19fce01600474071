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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestANewLifeWaitsToBeToldWhatIsWanted(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		pass(time.Hour)
		if s := f.expectState(adapter.Waiting); s.Tried || s.Name != "orders" {
			t.Errorf("%+v", s)
		}
		if n := len(f.launcher.starts()); n != 0 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestWhatIsWantedIsStartedAndOfferedOnceItsCatalogueIsThere(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := silent()
		f.launcher.will(gives(in))
		f.wants("1")
		if s := f.expectState(adapter.Starting); s.Tried || s.Plugin != "sql" || s.Path != "/p/1" {
			t.Errorf("%+v", s)
		}
		if n := f.offered(); n != 0 {
			t.Errorf("%d tools without a catalogue", n)
		}
		c := offering("get", "put")
		c.Notes = []string{"of the catalogue"}
		in.catalogs <- c
		synctest.Wait()
		want := adapter.Status{
			Name: "orders", Plugin: "sql", State: adapter.Ready, Since: time.Now(), Path: "/p/1", Version: "1.0", PID: 1,
			Prefix: "orders_", Tools: 2, Sandbox: "none", Notes: []string{"of the catalogue"}, Tried: true,
		}
		if diff := cmp.Diff(want, f.now(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, name := range []string{"orders_get", "orders_put"} {
			if _, ok := f.registry.Snapshot().Find(name); !ok {
				t.Errorf("%s is not offered", name)
			}
		}
		if c := f.calls(tool.Additive); c.look().text != "process 1, attempt 1" {
			t.Errorf("a call ended with %+v", c.look())
		}
	})
}

func TestWhatIsWantedAgainChangesNothing(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		for range 3 {
			f.wants("1")
		}
		if n := len(f.launcher.starts()); n != 1 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestAStartThatFailsIsTriedAgainWithGrowingPausesAndThenGivenUp(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(fails(errLaunch))
		f.wants("1")
		for n := 1; n <= patience; n++ {
			s := f.expectState(adapter.BackingOff)
			if !s.Tried || s.Cause != "launch: cannot be executed" || s.Retry == nil || len(f.launcher.starts()) != n {
				t.Fatalf("after %d starts: %+v", len(f.launcher.starts()), s)
			}
			pass(time.Until(*s.Retry) - time.Nanosecond)
			if len(f.launcher.starts()) != n {
				t.Fatal("it was started before its time")
			}
			pass(time.Nanosecond)
		}
		if s := f.expectState(adapter.Quarantined); s.Retry != nil || s.Cause != "launch: cannot be executed" {
			t.Errorf("%+v", s)
		}
		pass(24 * time.Hour)
		f.wants("1")
		starts := f.launcher.starts()
		if len(starts) != patience+1 {
			t.Errorf("%d starts", len(starts))
		}
		growing := starts[patience].Sub(starts[patience-1]) + starts[patience-1].Sub(starts[patience-2])
		if first := starts[1].Sub(starts[0]); first <= 0 || growing <= 2*first {
			t.Errorf("the first pause is %v, the last two together %v", first, growing)
		}
	})
}

func TestWhatWasGivenUpIsTriedAgainOnceItChanges(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"another version": func(f *fixture) { f.wants("2") },
		"it went away and came back": func(f *fixture) {
			f.Wait("sql", "there is no plugin sql")
			synctest.Wait()
			f.wants("1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				f.launcher.will(fails(errLaunch))
				f.wants("1")
				pass(time.Hour)
				f.expectState(adapter.Quarantined)
				f.launcher.will(nil)
				change(f)
				if s := f.expectState(adapter.Ready); s.Cause != "" || s.Retry != nil {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

func TestARefusedConfigurationIsTriedAgainForEver(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(fails(errRefused))
		f.wants("1")
		for range 100 {
			s := f.expectState(adapter.Failed)
			if s.Cause != "configure: no such database" || s.Retry == nil {
				t.Fatalf("%+v", s)
			}
			if next := time.Until(*s.Retry); next <= 0 || next > 2*slowest {
				t.Fatalf("the next in %v", next)
			}
			pass(time.Until(*s.Retry))
		}
		if n := len(f.launcher.starts()); n != 101 {
			t.Errorf("%d starts", n)
		}
		f.launcher.will(nil) // the database came up
		pass(2 * slowest)
		f.expectState(adapter.Ready)
	})
}

func TestAPluginThatNeedsConfigurationWaitsForItAndIsNotTriedAgain(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(fails(&adapter.NeedsConfigError{Plugin: "sql"}))
		f.wants("1")
		pass(24 * time.Hour)
		f.wants("1")
		if s := f.expectState(adapter.Waiting); !s.Tried || !strings.Contains(s.Cause, "name it under adapters:") || s.Retry != nil {
			t.Errorf("%+v", s)
		}
		if n := len(f.launcher.starts()); n != 1 {
			t.Errorf("%d starts", n)
		}
		f.launcher.will(nil)
		f.wants("configured")
		f.expectState(adapter.Ready)
	})
}

func TestAnInstanceThatGivesNoCatalogueIsDrained(t *testing.T) {
	for name, tc := range map[string]struct {
		play  func(*instance)
		cause string
	}{
		"in time":        {func(*instance) { time.Sleep(10 * time.Second) }, "catalogue: no catalogue in time"},
		"before it ends": {func(in *instance) { in.crash() }, "catalogue: it ended before it gave its catalogue: exit status 3"},
		"but an error":   {func(in *instance) { close(in.catalogs) }, "catalogue: the stream broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				in := silent()
				f.launcher.will(gives(in))
				f.wants("1")
				f.launcher.will(fails(errLaunch)) // the next one
				tc.play(in)
				synctest.Wait()
				if s := f.expectState(adapter.BackingOff); s.Cause != tc.cause || s.PID != 0 {
					t.Errorf("%+v", s)
				}
				if in.drains() != 1 {
					t.Error("it was not drained")
				}
			})
		})
	}
}

func TestACatalogueThatCollidesIsAFailedStartAndTheIncumbentStays(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		incumbent := &registry.Offer{Spec: tool.Spec{Name: "orders_get", Adapter: "shop"}}
		if _, err := f.registry.Replace("shop", newInstance(), []*registry.Offer{incumbent}); err != nil {
			t.Fatal(err)
		}
		f.wants("1")
		s := f.expectState(adapter.BackingOff)
		if !strings.Contains(s.Cause, "tool orders_get of adapter orders collides with that of adapter shop") {
			t.Errorf("cause %q", s.Cause)
		}
		if o, _ := f.registry.Snapshot().Find("orders_get"); o != incumbent {
			t.Error("the incumbent has lost its name")
		}
		if f.launcher.instances()[0].drains() != 1 {
			t.Error("it was not drained")
		}
		if _, err := f.registry.Replace("shop", nil, nil); err != nil {
			t.Fatal(err)
		}
		pass(time.Until(*s.Retry))
		f.expectState(adapter.Ready)
	})
}

func TestToolsThatAreAtFaultAreNotedAndTheRestIsOffered(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(gives(newInstance("get", "no name")))
		f.starts("1")
		if s := f.now(); s.Tools != 1 || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], `tool "no name" left out`) {
			t.Errorf("%+v", s)
		}
	})
}

func TestWhatIsWantedMayChangeWhileAnotherIsStarted(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(takes(5 * time.Second))
		f.wants("1")
		f.wants("2")
		f.wants("3")
		pass(10 * time.Second)
		if s := f.expectState(adapter.Ready); s.Path != "/p/3" {
			t.Errorf("%+v", s)
		}
		if n := len(f.launcher.starts()); n != 2 {
			t.Errorf("%d starts, want those of 1 and 3", n)
		}
	})
}

func TestAHungStartIsGivenUpAfterItsTimeout(t *testing.T) {
	lived(t, func(_ *testing.T, f *fixture) {
		f.launcher.will(hangs)
		f.wants("1")
		pass(10*time.Second - time.Nanosecond)
		f.expectState(adapter.Starting)
		pass(time.Nanosecond)
		f.expectState(adapter.BackingOff)
	})
}

func TestStatusTellsOfEachChange(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		_, changed := f.Status()
		f.launcher.will(takes(time.Second))
		f.wants("1")
		select {
		case <-changed:
		default:
			t.Fatal("nobody was told that it starts")
		}
		s, changed := f.Status()
		began := s.Since
		select {
		case <-changed:
			t.Fatal("somebody was told of nothing")
		default:
		}
		pass(time.Second)
		<-changed
		if s := f.expectState(adapter.Ready); s.Since.Sub(began) != time.Second {
			t.Errorf("ready since %v, starting since %v", s.Since, began)
		}
	})
}

func TestTheErrorOfAStopThatTakesTooLongIsThatOfItsContext(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := newInstance("get")
		in.slow = true
		f.launcher.will(gives(in))
		f.starts("1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "adapter orders has not stopped") {
			t.Errorf("%v", err)
		}
	})
}
