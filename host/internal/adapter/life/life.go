// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package life is one adapter's state machine: it starts what is desired,
// restarts what crashed, swaps what changed without losing a call, and drains
// what is not wanted any more. First start, restart and swap take one path.
package life

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Registry is where what an adapter has is offered.
type Registry interface {
	Snapshot() *registry.Snapshot
	Wanted(ctx context.Context, adapter string) iter.Seq[[]string]
	Replace(adapter string, runner tool.Runner, offers []*registry.Offer) (<-chan struct{}, error)
}

// Specs hold an adapter's tools to what is known of them: fit are those that may
// be offered, as they may be, and notes say what was held back.
type Specs interface {
	Review(adapter string, tools []tool.Spec) (fit []tool.Spec, notes []string, err error)
}

// Config is what a life is made of.
type Config struct {
	Name     string
	Launcher adapter.Launcher
	Registry Registry
	// Specs may be nil: then every tool is what it says of itself.
	Specs Specs
	// Schemas may be nil.
	Schemas *schema.Shared
	// Key is what origins are keyed with.
	Key []byte
	// Pulse is how the health of what serves is asked for.
	Pulse Pulse
	Log   hclog.Logger
}

// Life is one adapter's. It is safe for concurrent use.
type Life struct {
	config Config
	signal chan struct{} // something is wanted
	known  chan struct{} // what is known of tools has changed
	done   chan struct{} // closed once nothing of it is left
	drains sync.WaitGroup

	mu        sync.Mutex
	wanted    wanted
	status    adapter.Status
	current   *running
	restarted answer        // of the newest restart
	changed   chan struct{} // closed at the next change of any of these
}

// wanted is what the reconciler said last: a desired instance, a reason to wait
// for one, or the end.
type wanted struct {
	desired *adapter.Desired
	digest  tool.Digest
	terms   tool.Digest // digest of its terms
	reason  string
	stop    bool
	// restarts that were asked for so far.
	restarts uint64
}

// unconfined is what confines a process that is not there.
const unconfined = "none"

// New starts a life that waits to be told what is wanted.
func New(c Config) *Life {
	l := &Life{
		config: c, signal: make(chan struct{}, 1), known: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
		status: adapter.Status{Name: c.Name, State: adapter.Waiting, Since: time.Now(), Sandbox: unconfined},
	}
	go (&machine{Life: l, temper: newTemper()}).run()
	return l
}

// Want says what the adapter should be. What is equal to what runs changes
// nothing.
func (l *Life) Want(d *adapter.Desired) {
	l.want(wanted{desired: d, digest: d.Digest(), terms: d.Terms.Digest()})
}

// Wait says that the adapter cannot be, and why: its plugin or a secret is not
// there. What runs is drained.
func (l *Life) Wait(plugin, reason string) {
	l.mu.Lock()
	l.status.Plugin = plugin
	l.mu.Unlock()
	l.want(wanted{reason: reason})
}

// Review looks at the newest catalogue again: what is known of its tools may
// have changed.
func (l *Life) Review() {
	select {
	case l.known <- struct{}{}:
	default:
	}
}

// Stop drains what runs and ends the life, within ctx.
func (l *Life) Stop(ctx context.Context) error {
	l.want(wanted{stop: true})
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("adapter %s has not stopped: %w", l.config.Name, ctx.Err())
	}
}

// Done is closed once the life has ended.
func (l *Life) Done() <-chan struct{} { return l.done }

func (l *Life) want(w wanted) {
	l.mu.Lock()
	if l.wanted.stop {
		l.mu.Unlock()
		return // the end is the end
	}
	w.restarts = l.wanted.restarts
	l.wanted = w
	l.announce()
	l.mu.Unlock()
	l.nudge()
}

// nudge makes the machine look at what is wanted.
func (l *Life) nudge() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// Status returns where it is, and a channel that is closed at the next change.
func (l *Life) Status() (adapter.Status, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	s.Behind = l.current != nil && (l.current.digest != l.wanted.digest || l.current.under != l.wanted.terms)
	return s, l.changed
}

// update changes the status.
func (l *Life) update(change func(*adapter.Status)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.status.State
	change(&l.status)
	if l.status.State != before {
		l.status.Since = time.Now()
		l.config.Log.Debug("adapter's state", "adapter", l.config.Name, "from", before, "to", l.status.State)
	}
	l.announce()
}

// announce wakes those who wait for a change; l.mu is held.
func (l *Life) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// begin says that a start begins, beside the old one if that serves.
func (l *Life) begin(w wanted, old *running) {
	l.update(func(s *adapter.Status) {
		d := w.desired
		s.Plugin, s.Path, s.Prefix = d.Program.Plugin, d.Program.Path, d.Prefix
		if old == nil {
			s.State, s.PID, s.Retry = adapter.Starting, 0, nil
		}
	})
}

// pause says that an instance crashed too often to be started again at once;
// without a delay, that it will not be.
func (l *Life) pause(delay time.Duration) {
	l.update(func(s *adapter.Status) {
		s.State = adapter.Quarantined
		if delay > 0 {
			at := time.Now().Add(delay)
			s.State, s.Retry = adapter.BackingOff, &at
		}
	})
}

// resume says that what runs is what is wanted again.
func (l *Life) resume(cur *running) {
	l.update(func(s *adapter.Status) {
		d := cur.desired
		s.Plugin, s.Path, s.Prefix = d.Program.Plugin, d.Program.Path, d.Prefix
		s.Cause, s.Retry = "", nil
	})
}

// stumbled says that what was restarted crashed again before it served.
func (l *Life) stumbled(err error) {
	l.config.Log.Error("adapter ended by itself while it restarted", "adapter", l.config.Name, "reason", err)
	l.update(func(s *adapter.Status) {
		s.Crashes++
		s.Cause = err.Error()
	})
}

// failed says that a start came to nothing.
func (l *Life) failed(w wanted, cur *running, err error, delay time.Duration) {
	l.config.Log.Error("adapter did not start", "adapter", l.config.Name, "plugin", w.desired.Program.Plugin, "error", err,
		"still_serving", cur != nil)
	l.update(func(s *adapter.Status) {
		s.Tried = true
		s.Cause = err.Error()
		s.Retry = nil
		if delay > 0 {
			at := time.Now().Add(delay)
			s.Retry = &at
		}
		if cur != nil { // the old one serves on
			s.State = adapter.Ready
			s.Cause = "the new version did not start, the old one serves on: " + s.Cause
			return
		}
		s.PID, s.Version, s.Sandbox, s.Reach, s.Memory = 0, "", unconfined, nil, ""
		var refused *adapter.StartError
		var needs *adapter.NeedsConfigError
		switch {
		case errors.As(err, &needs):
			s.State = adapter.Waiting
		case errors.As(err, &refused) && refused.Refused:
			s.State = adapter.Failed
		case delay > 0:
			s.State = adapter.BackingOff
		default:
			s.State = adapter.Quarantined
		}
	})
}
