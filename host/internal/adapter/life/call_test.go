// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// dies is an instance that crashes during a call.
func (i *instance) dies(sent bool) {
	i.will(func(context.Context, *tool.Attempt) (tool.Outcome, error) {
		i.crash()
		return nil, unavailable(sent)
	})
}

func unavailable(sent bool) *tool.Error {
	return &tool.Error{Kind: tool.AdapterUnavailable, Code: "adapter_unavailable", Text: "it died", Sent: sent}
}

func TestACallWaitsForAnAdapterThatStarts(t *testing.T) {
	for _, effects := range []tool.Effects{tool.ReadOnly, tool.Destructive} {
		t.Run(string(effects), func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				in := f.starts("1")
				f.launcher.will(takes(patienceOfCalls - time.Nanosecond))
				in.crash()
				synctest.Wait()
				c := f.calls(effects)
				if c.look().over {
					t.Fatalf("it did not wait: %+v", c.look())
				}
				pass(patienceOfCalls - time.Nanosecond)
				if !c.look().over || c.look().text != "process 2, attempt 1" { // it was not sent before
					t.Errorf("%+v", c.look())
				}
			})
		})
	}
}

func TestACallWaitsFiveSecondsAndNoLonger(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		f.launcher.will(takes(9 * time.Second))
		in.crash()
		synctest.Wait()
		begin := time.Now()
		c := f.calls(tool.ReadOnly)
		pass(patienceOfCalls)
		if !c.look().over || c.look().err == nil || c.look().err.Kind != tool.AdapterUnavailable || c.look().err.Sent || time.Since(begin) != 5*time.Second {
			t.Fatalf("after %v: %+v", time.Since(begin), c.look())
		}
		if !strings.Contains(c.look().err.Text, "adapter orders is not available: it did not start in time") || c.look().err.RetryAfter != time.Second {
			t.Errorf("%+v", c.look().err)
		}
	})
}

func TestACallWaitsNoLongerThanItsContext(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		f.launcher.will(takes(4 * time.Second))
		in.crash()
		synctest.Wait()
		late, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		quits, quit := context.WithCancel(t.Context())
		c, d := f.callsWithin(late, tool.ReadOnly), f.callsWithin(quits, tool.ReadOnly)
		quit()
		pass(time.Second)
		if c.look().err == nil || c.look().err.Kind != tool.Timeout || c.look().err.Sent || d.look().err == nil || d.look().err.Kind != tool.Cancelled || d.look().err.Sent {
			t.Errorf("%+v, %+v", c.look().err, d.look().err)
		}
	})
}

func TestAfterACrashACallThatReadsOrWasNotSentIsSentOnceMore(t *testing.T) {
	for name, tc := range map[string]struct {
		effects tool.Effects
		sent    bool
		again   bool
	}{
		"it reads and was sent":                  {tool.ReadOnly, true, true},
		"it reads and was not sent":              {tool.ReadOnly, false, true},
		"it adds and was not sent":               {tool.Additive, false, true},
		"it destroys and was not sent":           {tool.Destructive, false, true},
		"it adds and was sent":                   {tool.Additive, true, false},
		"it destroys and was sent":               {tool.Destructive, true, false},
		"nobody knows what it does and was sent": {tool.EffectsUnset, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				f.starts("1").dies(tc.sent)
				c := f.calls(tc.effects)
				switch {
				case !c.look().over:
					t.Fatal("it goes on")
				case tc.again && c.look().text != "process 2, attempt 2":
					t.Errorf("%+v, want a second attempt", c.look())
				case !tc.again && !reflect.DeepEqual(c.look().err, unavailable(true)):
					t.Errorf("%+v, want the error of the only attempt", c.look())
				}
				f.expectState(adapter.Ready)
			})
		})
	}
}

func TestACallIsSentTwiceAtMost(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.starts("1").dies(true)
		second := newInstance("get")
		second.dies(true)
		restarts := 0
		f.launcher.will(func(context.Context, *adapter.Desired) (*instance, error) {
			if restarts++; restarts == 1 {
				return second, nil
			}
			return newInstance("get"), nil
		})
		c := f.calls(tool.ReadOnly)
		if !c.look().over || c.look().err == nil || c.look().err.Kind != tool.AdapterUnavailable {
			t.Errorf("%+v", c.look())
		}
		if n := len(f.launcher.instances()); n != 3 {
			t.Errorf("%d instances", n)
		}
	})
}

func TestWhatIsAsGoodTwiceIsSentAgainOnlyIfThatIsPinned(t *testing.T) {
	for name, c := range map[string]struct{ pinned, idempotent, again bool }{
		"pinned":               {true, true, true},
		"its own word":         {false, true, false},
		"pinned, but not that": {true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				d := version("1")
				if c.pinned {
					d.Program.Pin = tool.DigestOf([]byte("1"))
				}
				f.Want(d)
				synctest.Wait()
				f.launcher.instances()[0].dies(true)
				e, release, ok := f.registry.Acquire("orders_get")
				if !ok {
					t.Fatal("the tool is not offered")
				}
				defer release()
				spec := e.Spec
				spec.Effects, spec.Idempotent = tool.Destructive, c.idempotent
				_, err := e.Runner.Run(t.Context(), &tool.Attempt{Call: &tool.Call{Op: tool.OpTool, Name: "orders_get"}, ID: "call_1", N: 1, Spec: spec})
				if (err == nil) != c.again {
					t.Errorf("ended with %v", err)
				}
				synctest.Wait()
			})
		})
	}
}

func TestOtherErrorsAreNeverSentAgain(t *testing.T) {
	for _, kind := range []tool.Kind{tool.Timeout, tool.Cancelled, tool.ToolError, tool.ToolFailed, tool.RateLimited} {
		t.Run(string(kind), func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				in := f.starts("1")
				calls := 0
				in.will(func(context.Context, *tool.Attempt) (tool.Outcome, error) {
					calls++
					return nil, &tool.Error{Kind: kind}
				})
				if c := f.calls(tool.ReadOnly); c.look().err == nil || c.look().err.Kind != kind || calls != 1 {
					t.Errorf("after %d attempts: %+v", calls, c.look())
				}
			})
		})
	}
}

func TestAnInstanceThatSaysItIsUnavailableAndLivesIsBelieved(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		in.will(func(context.Context, *tool.Attempt) (tool.Outcome, error) { return nil, unavailable(true) })
		c := f.calls(tool.ReadOnly)
		pass(noticed)
		if !c.look().over || !reflect.DeepEqual(c.look().err, unavailable(true)) {
			t.Errorf("%+v", c.look())
		}
	})
}

func TestAnEndThatIsNoticedAMomentLaterIsACrashAllTheSame(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		in.will(func(context.Context, *tool.Attempt) (tool.Outcome, error) {
			time.AfterFunc(50*time.Millisecond, in.crash)
			return nil, unavailable(true)
		})
		c := f.calls(tool.ReadOnly)
		pass(50 * time.Millisecond)
		if !c.look().over || c.look().text != "process 2, attempt 2" {
			t.Errorf("%+v", c.look())
		}
	})
}

func TestACallerThatIsGoneIsNotServedAgain(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		in := f.starts("1")
		ctx, cancel := context.WithCancel(t.Context())
		in.will(func(context.Context, *tool.Attempt) (tool.Outcome, error) {
			cancel()
			in.crash()
			return nil, unavailable(true)
		})
		c := f.callsWithin(ctx, tool.ReadOnly) // it was sent, and that is what is known of it
		if !c.look().over || !reflect.DeepEqual(c.look().err, unavailable(true)) {
			t.Errorf("%+v", c.look())
		}
	})
}

// What was judged, and perhaps approved, is what runs.
func TestACallIsNotRunByAnInstanceWhoseToolIsAnother(t *testing.T) {
	for name, next := range map[string]func() *instance{
		"its effects are others": func() *instance {
			in := silent()
			in.catalogs <- adapter.Catalog{Tools: []tool.Spec{{Declared: "get", Effects: tool.Destructive}}}
			return in
		},
		"it is not there any more": func() *instance { return newInstance("put") },
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				in := f.starts("1")
				f.launcher.will(func(_ context.Context, _ *adapter.Desired) (*instance, error) {
					time.Sleep(time.Second)
					return next(), nil
				})
				in.crash()
				synctest.Wait()
				c := f.calls(tool.ReadOnly)
				pass(time.Second)
				if !c.look().over || c.look().err == nil || c.look().err.Kind != tool.AdapterUnavailable || c.look().err.Sent ||
					!strings.Contains(c.look().err.Text, "the tool has changed; list the tools again") {
					t.Errorf("%+v", c.look())
				}
			})
		})
	}
}

func TestACallOfAnAdapterThatIsGoneFailsFast(t *testing.T) {
	for name, tc := range map[string]struct {
		then func(*fixture)
		text string
	}{
		"given up": {func(f *fixture) {
			f.launcher.will(fails(errLaunch))
			f.launcher.instances()[0].crash()
			time.Sleep(time.Hour)
		}, "it is quarantined"},
		"not wanted any more": {func(f *fixture) { f.Wait("sql", "there is no plugin sql") }, "it is waiting"},
		"stopped":             {func(f *fixture) { go f.Stop(context.Background()) }, "it is stopped"}, //nolint:errcheck // stopped again by the fixture
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				in := f.starts("1")
				e, release, _ := f.registry.Acquire("orders_get")
				release() // so that it can be drained: the call comes too late
				tc.then(f)
				synctest.Wait()
				in.crash()
				synctest.Wait()
				_, err := e.Runner.Run(t.Context(), &tool.Attempt{Call: &tool.Call{}, N: 1, Spec: e.Spec})
				var failed *tool.Error
				if !errors.As(err, &failed) || failed.Kind != tool.AdapterUnavailable || failed.RetryAfter != 0 || !strings.Contains(failed.Text, tc.text) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
