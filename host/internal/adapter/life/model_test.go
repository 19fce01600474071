// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// step is one thing that happens to a life.
type step struct {
	What string
	N    int
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		What: rapid.SampledFrom([]string{
			"want", "want", "missing", "crash", "crash", "starts fail", "starts crash", "starts are refused", "starts hang", "starts take a second",
			"starts succeed", "starts succeed", "time passes", "more time passes", "call that reads dies", "call with effects dies",
			"want and crash at once", "crash and missing at once", "restart", "hangs", "stop",
		}).Draw(t, "what"),
		N: rapid.IntRange(1, 3).Draw(t, "n"),
	}
}), 1, 40)

func TestWhateverHappensALifeKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		script := steps.Draw(r, "steps")
		var broken string
		lived(t, func(_ *testing.T, f *fixture) { broken = f.follow(script) })
		if broken != "" {
			r.Fatal(broken)
		}
	})
}

// follow lets the steps happen and returns the promise that was broken.
func (f *fixture) follow(script []step) string {
	for i, s := range script {
		if broken := f.happen(s); broken != "" {
			return fmt.Sprintf("step %d, %s: %s", i, s.What, broken)
		}
		synctest.Wait()
		if broken := f.promises(); broken != "" {
			return fmt.Sprintf("step %d, %s: %s", i, s.What, broken)
		}
		if s.What == "stop" {
			return ""
		}
	}
	// In the end all comes right that can.
	f.launcher.will(nil)
	pass(10 * time.Second) // for a start that hangs
	f.wants("last")
	pass(10 * time.Second)
	if s := f.now(); s.State != adapter.Ready || s.Path != "/p/last" {
		return fmt.Sprintf("in the end it is %s with %s: %s", s.State, s.Path, s.Cause)
	}
	return f.promises()
}

func (f *fixture) happen(s step) string {
	switch s.What {
	case "want":
		f.Want(version(fmt.Sprint(s.N)))
	case "missing":
		f.Wait("sql", "there is no plugin sql")
	case "crash":
		f.crashAll()
	case "want and crash at once":
		f.crashAll()
		f.Want(version(fmt.Sprint(s.N)))
	case "crash and missing at once":
		f.crashAll()
		f.Wait("sql", "there is no plugin sql")
	case "starts fail":
		f.launcher.will(fails(errLaunch))
	case "starts crash":
		f.launcher.will(fails(errEnded))
	case "starts are refused":
		f.launcher.will(fails(errRefused))
	case "starts hang":
		f.launcher.will(hangs)
	case "starts take a second":
		f.launcher.will(takes(time.Second))
	case "starts succeed":
		f.launcher.will(nil)
	case "time passes":
		pass(time.Duration(s.N) * time.Second)
	case "more time passes":
		pass(time.Duration(s.N) * 40 * time.Second)
	case "call that reads dies":
		return f.callDies(tool.ReadOnly, 2)
	case "call with effects dies":
		return f.callDies(tool.Additive, 1)
	case "restart":
		go func() { _ = f.Restart(context.Background()) }() // what comes of it is another test's
	case "hangs":
		for _, in := range f.launcher.instances() {
			in.falls(errHangs)
		}
	case "stop":
		if err := f.Stop(f.t.Context()); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (f *fixture) crashAll() {
	for _, in := range f.launcher.instances() {
		in.crash()
	}
}

// callDies calls a tool while everything that runs crashes in the middle of it.
func (f *fixture) callDies(effects tool.Effects, atMost int) string {
	if f.now().State != adapter.Ready {
		return ""
	}
	attempts := 0
	for _, in := range f.launcher.instances() {
		in.will(func(context.Context, *tool.Attempt) (tool.Outcome, error) {
			attempts++
			in.crash()
			return nil, unavailable(true)
		})
	}
	c := f.calls(effects)
	pass(patienceOfCalls)
	switch {
	case !c.look().over:
		return "a call has no end"
	case attempts > atMost:
		return fmt.Sprintf("a call was sent %d times", attempts)
	}
	return ""
}

// promises returns the promise that does not hold now.
func (f *fixture) promises() string {
	s := f.now()
	living, starting := 0, 0
	if f.launcher.starting() {
		starting = 1
	}
	for _, in := range f.launcher.instances() {
		if !in.over() {
			living++
		}
	}
	switch {
	case living+starting > 2:
		return fmt.Sprintf("%d instances live and %d starts", living, starting)
	case (s.State == adapter.Stopped || s.State == adapter.Waiting) && f.offered() > 0:
		return fmt.Sprintf("it is %s and offers %d tools", s.State, f.offered())
	case (s.State == adapter.Stopped || s.State == adapter.Waiting) && living > 0:
		return fmt.Sprintf("it is %s and %d instances live", s.State, living)
	case s.State != adapter.Ready && s.PID != 0:
		return fmt.Sprintf("it is %s and has process %d", s.State, s.PID)
	case (s.State == adapter.BackingOff || s.State == adapter.Failed) && (s.Retry == nil || !s.Retry.After(time.Now())):
		return fmt.Sprintf("it is %s and will be tried again at %v", s.State, s.Retry)
	case s.State != adapter.Ready:
		return ""
	}
	if c := f.calls(tool.Destructive).look(); c.text != fmt.Sprintf("process %d, attempt 1", s.PID) {
		return fmt.Sprintf("it is ready with process %d, and a call gives %+v", s.PID, c)
	}
	return ""
}
