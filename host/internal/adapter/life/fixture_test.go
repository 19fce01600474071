// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// launcher starts instances that are not there but in a test.
type launcher struct {
	// launch decides what becomes of a start; nil: an instance of the tool get.
	launch func(context.Context, *adapter.Desired) (*instance, error)

	mu      sync.Mutex
	begun   []time.Time // of each start
	started []*instance // all that came to an instance
	most    int         // that lived at once
	pending int         // starts that go on
}

func (f *launcher) Start(ctx context.Context, d *adapter.Desired) (adapter.Instance, error) {
	f.mu.Lock()
	f.begun = append(f.begun, time.Now())
	f.pending++
	launch := f.launch
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.pending--
		f.mu.Unlock()
	}()
	in, err := newInstance("get"), error(nil)
	if launch != nil {
		in, err = launch(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	in.desired, in.pid = d, len(f.started)+1
	f.started = append(f.started, in)
	living := 0
	for _, i := range f.started {
		if !i.over() {
			living++
		}
	}
	f.most = max(f.most, living)
	return in, nil
}

// will changes what becomes of starts from now on.
func (f *launcher) will(launch func(context.Context, *adapter.Desired) (*instance, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.launch = launch
}

func (f *launcher) starts() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Time(nil), f.begun...)
}

// atOnce is how many instances lived at once, at most.
func (f *launcher) atOnce() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

// starting reports whether a start goes on.
func (f *launcher) starting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending > 0
}

// instances returns all that were ever started.
func (f *launcher) instances() []*instance {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*instance(nil), f.started...)
}

// Ways in which a start can go.

func fails(err error) func(context.Context, *adapter.Desired) (*instance, error) {
	return func(context.Context, *adapter.Desired) (*instance, error) { return nil, err }
}

func gives(in *instance) func(context.Context, *adapter.Desired) (*instance, error) {
	return func(context.Context, *adapter.Desired) (*instance, error) { return in, nil }
}

func hangs(ctx context.Context, _ *adapter.Desired) (*instance, error) {
	<-ctx.Done()
	return nil, &adapter.StartError{Phase: adapter.PhaseHandshake, Reason: "no handshake in time", Err: ctx.Err()}
}

// takes lets a start take a while.
func takes(d time.Duration) func(context.Context, *adapter.Desired) (*instance, error) {
	return func(ctx context.Context, _ *adapter.Desired) (*instance, error) {
		select {
		case <-time.After(d):
			return newInstance("get"), nil
		case <-ctx.Done():
			return hangs(ctx, nil)
		}
	}
}

var (
	errLaunch  = &adapter.StartError{Phase: adapter.PhaseLaunch, Reason: "cannot be executed"}
	errEnded   = &adapter.StartError{Phase: adapter.PhaseHandshake, Reason: "it ended before the handshake", Ended: true}
	errRefused = &adapter.StartError{Phase: adapter.PhaseConfigure, Reason: "no such database", Refused: true}
)

// fixture is a life, its launcher and a registry. It is used in a bubble of
// synctest.
type fixture struct {
	*Life

	t        *testing.T
	launcher *launcher
	registry *registry.Registry
}

// lived runs a test of a life in a bubble, stops the life at its end, and
// expects that nothing of it is left.
func lived(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, launcher: &launcher{}, registry: registry.New()}
		f.Life = New(Config{Name: "orders", Launcher: f.launcher, Registry: f.registry, Log: hclog.NewNullLogger()})
		defer f.stop()
		test(t, f)
	})
}

func (f *fixture) stop() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := f.Stop(ctx); err != nil {
		f.t.Fatal(err)
	}
	f.expectState(adapter.Stopped)
	if n := f.offered(); n != 0 {
		f.t.Errorf("%d tools are offered after the end", n)
	}
	for _, in := range f.launcher.instances() {
		if in.drains() == 0 || !in.over() {
			f.t.Errorf("process %d was not drained", in.pid)
		}
	}
}

// offered is how many tools the adapter has in the registry.
func (f *fixture) offered() int {
	n := 0
	for _, o := range f.registry.Snapshot().Offers {
		if o.Spec.Adapter == "orders" {
			n++
		}
	}
	return n
}

// version of the desired adapter: another version is another digest.
func version(v string) *adapter.Desired {
	return &adapter.Desired{
		Name: "orders", Program: adapter.Program{Plugin: "sql", Path: "/p/" + v, Stamp: v}, Prefix: "orders_",
		Limits: adapter.Limits{Timeout: 30 * time.Second, Restarts: 2, StartTimeout: 10 * time.Second},
	}
}

// wants says what is wanted, and returns once all has come of it that comes at
// once.
func (f *fixture) wants(v string) {
	f.Want(version(v))
	synctest.Wait()
}

// starts wants a version that starts.
func (f *fixture) starts(v string) *instance {
	f.t.Helper()
	f.wants(v)
	f.expectState(adapter.Ready)
	all := f.launcher.instances()
	return all[len(all)-1]
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (f *fixture) now() adapter.Status {
	s, _ := f.Status()
	return s
}

func (f *fixture) expectState(want adapter.State) adapter.Status {
	f.t.Helper()
	s := f.now()
	if s.State != want {
		f.t.Fatalf("it is %s (%s), want %s", s.State, s.Cause, want)
	}
	return s
}

// call is a call of the tool get that was begun, as the executor does it.
type call struct {
	ended chan outcome
	last  outcome
}

type outcome struct {
	over bool
	text string
	err  *tool.Error
}

// look says how the call ended, if it has.
func (c *call) look() outcome {
	select {
	case c.last = <-c.ended:
	default:
	}
	return c.last
}

// callsWithin begins a call with a context, and returns once it waits or is
// over.
func (f *fixture) callsWithin(ctx context.Context, effects tool.Effects) *call {
	f.t.Helper()
	e, release, ok := f.registry.Acquire("orders_get")
	if !ok {
		f.t.Fatal("the tool is not offered")
	}
	c := &call{ended: make(chan outcome, 1)}
	spec := e.Spec
	spec.Effects = effects
	go func() {
		defer release()
		out, err := e.Runner.Run(ctx, &tool.Attempt{Call: &tool.Call{Op: tool.OpTool, Name: "orders_get"}, ID: "call_1", N: 1, Spec: spec})
		if err != nil {
			c.ended <- outcome{over: true, err: tool.AsError(err)}
			return
		}
		c.ended <- outcome{over: true, text: out.(*tool.Result).Content[0].(*tool.Text).Text}
	}()
	synctest.Wait()
	return c
}

func (f *fixture) calls(effects tool.Effects) *call {
	f.t.Helper()
	return f.callsWithin(f.t.Context(), effects)
}
