// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// works lets calls of an instance work until the test says how they end.
func (i *instance) works() (finish chan<- error) {
	work := make(chan error)
	i.will(func(_ context.Context, a *tool.Attempt) (tool.Outcome, error) {
		select {
		case err := <-work:
			if err != nil {
				return nil, err
			}
			return i.answer(a), nil
		case <-i.done:
			return nil, unavailable(true)
		}
	})
	return work
}

func TestASwapListsTheNewOneBeforeTheOldOneIsDrained(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		old := f.starts("1")
		finish := old.works()
		inFlight := f.calls(tool.Destructive)
		f.launcher.will(takes(5 * time.Second))
		f.wants("2")
		pass(4 * time.Second)
		if s := f.expectState(adapter.Ready); s.PID != 1 {
			t.Errorf("while the new one starts: %+v", s)
		}
		stillOld := f.calls(tool.ReadOnly)

		pass(time.Second)
		if s := f.expectState(adapter.Ready); s.PID != 2 || s.Path != "/p/2" || s.Cause != "" {
			t.Errorf("%+v", s)
		}
		if c := f.calls(tool.ReadOnly); c.look().text != "process 2, attempt 1" {
			t.Errorf("a new call: %+v", c.look())
		}
		if old.drains() != 0 {
			t.Fatal("the old one was drained under its calls")
		}
		for _, c := range []*call{inFlight, stillOld} {
			if old.drains() != 0 || c.look().over {
				t.Fatal("the old one was drained under its calls")
			}
			pass(10 * time.Second)
			finish <- nil
			synctest.Wait()
		}
		for _, c := range []*call{inFlight, stillOld} {
			if c.look().text != "process 1, attempt 1" {
				t.Errorf("a call in flight: %+v", c.look())
			}
		}
		if old.drains() != 1 || !old.over() {
			t.Error("the old one was not drained when its last call had ended")
		}
		if f.launcher.atOnce() != 2 {
			t.Errorf("%d instances at once", f.launcher.atOnce())
		}
	})
}

func TestACallThatHoldsOnToTheOldOneIsGivenItsTimeoutAndAMoment(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		old := f.starts("1")
		old.works()
		c := f.calls(tool.ReadOnly)
		f.wants("2")
		pass(old.desired.Limits.Timeout + drainTime - time.Nanosecond)
		if old.drains() != 0 {
			t.Fatal("drained before its time")
		}
		pass(time.Nanosecond)
		if old.drains() != 1 {
			t.Error("not drained")
		}
		if c.look().text != "process 2, attempt 2" {
			t.Errorf("a call that reads goes on elsewhere: %+v", c.look())
		}
	})
}

func TestASwapThatFailsLeavesTheOldOneServingAndSaysWhy(t *testing.T) {
	for name, failing := range map[string]func(context.Context, *adapter.Desired) (*instance, error){
		"it does not start":      fails(errLaunch),
		"it is refused":          fails(errRefused),
		"it needs configuration": fails(&adapter.NeedsConfigError{Plugin: "sql"}),
		"it hangs":               hangs,
		"it has no catalogue":    func(context.Context, *adapter.Desired) (*instance, error) { return silent(), nil },
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				old := f.starts("1")
				f.launcher.will(failing)
				f.wants("2")
				pass(10 * time.Second)
				s := f.expectState(adapter.Ready)
				if s.PID != 1 || !s.Behind || !strings.HasPrefix(s.Cause, "the new version did not start, the old one serves on: ") || s.Tools != 1 {
					t.Errorf("%+v", s)
				}
				if c := f.calls(tool.ReadOnly); c.look().text != "process 1, attempt 1" || old.drains() != 0 {
					t.Errorf("%+v", c.look())
				}
				f.launcher.will(nil)
				f.wants("3")
				if s := f.expectState(adapter.Ready); s.PID == 1 || s.Behind || s.Cause != "" {
					t.Errorf("%+v", s)
				}
				if old.drains() != 1 {
					t.Error("the old one was not drained")
				}
			})
		})
	}
}

func TestTheNewOneIsTriedAgainWhileTheOldOneServes(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		f.launcher.will(fails(errLaunch))
		f.wants("2")
		s := f.expectState(adapter.Ready)
		if s.Retry == nil {
			t.Fatal("nobody is told when")
		}
		f.launcher.will(nil)
		pass(time.Until(*s.Retry))
		if s := f.expectState(adapter.Ready); s.PID != 2 || s.Cause != "" || s.Retry != nil {
			t.Errorf("%+v", s)
		}
	})
}

func TestAChangeThatIsTakenBackLeavesNoTrace(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		before := f.now()
		f.launcher.will(fails(errRefused))
		f.wants("2")
		f.wants("1")
		after := f.expectState(adapter.Ready)
		if after.Cause != "" || after.Retry != nil || after.Path != before.Path || after.PID != before.PID {
			t.Errorf("%+v", after)
		}
		starts := len(f.launcher.starts())
		pass(time.Hour)
		if n := len(f.launcher.starts()) - starts; n != 0 {
			t.Errorf("what was taken back was tried %d times", n)
		}
	})
}

func TestASwapWhoseNamesCollideLeavesTheOldOnesTools(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1")
		taken := &registry.Offer{Spec: tool.Spec{Name: "orders_put", Adapter: "shop"}}
		if _, err := f.registry.Replace("shop", newInstance(), []*registry.Offer{taken}); err != nil {
			t.Fatal(err)
		}
		f.launcher.will(gives(newInstance("get", "put")))
		f.wants("2")
		if s := f.expectState(adapter.Ready); s.PID != 1 || !strings.Contains(s.Cause, "collides") {
			t.Errorf("%+v", s)
		}
		if c := f.calls(tool.ReadOnly); c.look().text != "process 1, attempt 1" {
			t.Errorf("%+v", c.look())
		}
		if f.launcher.instances()[1].drains() != 1 {
			t.Error("the new one was not drained")
		}
	})
}

// A call that was waiting while the adapter restarted holds, in the registry,
// the instance that died, and not the one that runs it.
func TestACallThatCameOverFromADeadInstanceIsNotDrainedUnderEither(t *testing.T) {
	for name, then := range map[string]func(*fixture){
		"swapped":    func(f *fixture) { f.wants("2") },
		"not wanted": func(f *fixture) { f.Wait("sql", "there is no plugin sql"); synctest.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				second := newInstance("get")
				finish := second.works()
				f.starts("1").dies(true)
				f.launcher.will(gives(second))
				c := f.calls(tool.ReadOnly)
				f.launcher.will(nil)
				then(f)
				pass(time.Second)
				if second.drains() != 0 || c.look().over {
					t.Fatalf("it was drained under its call: %+v", c.look())
				}
				finish <- nil
				synctest.Wait()
				if c.look().text != "process 2, attempt 2" || second.drains() != 1 {
					t.Errorf("%d drains, %+v", second.drains(), c.look())
				}
			})
		})
	}
}

func TestAChangedCatalogueIsOfferedInThePlaceOfTheOneBefore(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		finish := in.works()
		c := f.calls(tool.ReadOnly)
		in.catalogs <- offering("put", "post")
		synctest.Wait()
		if s := f.expectState(adapter.Ready); s.Tools != 2 {
			t.Errorf("%+v", s)
		}
		if _, ok := f.registry.Snapshot().Find("orders_get"); ok {
			t.Error("a tool that is gone is offered")
		}
		if in.drains() != 0 {
			t.Error("it was drained")
		}
		finish <- nil
		synctest.Wait()
		if c.look().text != "process 1, attempt 1" {
			t.Errorf("a call in flight: %+v", c.look())
		}
	})
}

func TestACatalogueThatKeepsChangingIsFollowedAtItsPace(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		taken := 0
		flood, end := context.WithCancel(t.Context())
		defer end()
		go func() {
			for {
				select {
				case in.catalogs <- offering("get", fmt.Sprintf("t%d", taken)):
					taken++
				case <-flood.Done():
					return
				}
			}
		}()
		before := f.registry.Snapshot().Version
		pass(time.Minute)
		if n := f.registry.Snapshot().Version - before; n < changesAtOnce || n > changesAtOnce+60 {
			t.Errorf("%d changes within a minute", n)
		}
		if c := f.calls(tool.ReadOnly); c.look().text != "process 1, attempt 1" {
			t.Errorf("%+v", c.look())
		}
	})
}

func TestACatalogueThatIsNotTakenLeavesTheOneBeforeAndSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		play  func(*instance)
		cause string
	}{
		"it collides":          {func(in *instance) { in.catalogs <- offering("get", "taken") }, "its newest catalogue was not taken: catalogue: tool orders_taken"},
		"its stream broke off": {func(in *instance) { close(in.catalogs) }, "its newest catalogue was not taken: the stream broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				in := f.starts("1")
				taken := &registry.Offer{Spec: tool.Spec{Name: "orders_taken", Adapter: "shop"}}
				if _, err := f.registry.Replace("shop", newInstance(), []*registry.Offer{taken}); err != nil {
					t.Fatal(err)
				}
				tc.play(in)
				synctest.Wait()
				if s := f.expectState(adapter.Ready); !strings.HasPrefix(s.Cause, tc.cause) || s.Tools != 1 {
					t.Errorf("%+v", s)
				}
				if c := f.calls(tool.ReadOnly); c.look().text != "process 1, attempt 1" {
					t.Errorf("%+v", c.look())
				}
			})
		})
	}
}
