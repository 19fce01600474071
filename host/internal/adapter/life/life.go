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
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Registry is where an adapter's tools are offered.
type Registry interface {
	Replace(adapter string, runner tool.Runner, offers []*registry.Offer) (<-chan struct{}, error)
}

// Config is what a life is made of.
type Config struct {
	Name     string
	Launcher adapter.Launcher
	Registry Registry
	Log      hclog.Logger
}

// Life is one adapter's. It is safe for concurrent use.
type Life struct {
	config Config
	signal chan struct{} // something is wanted
	done   chan struct{} // closed once nothing of it is left
	drains sync.WaitGroup

	mu      sync.Mutex
	wanted  wanted
	status  adapter.Status
	current *running
	changed chan struct{} // closed at the next change of status or current
}

// wanted is what the reconciler said last: a desired instance, a reason to wait
// for one, or the end.
type wanted struct {
	desired *adapter.Desired
	digest  tool.Digest
	reason  string
	stop    bool
}

// New starts a life that waits to be told what is wanted.
func New(c Config) *Life {
	l := &Life{
		config: c, signal: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
		status: adapter.Status{Name: c.Name, State: adapter.Waiting, Since: time.Now(), Sandbox: "none"},
	}
	go l.run()
	return l
}

// Want says what the adapter should be. What is equal to what runs changes
// nothing.
func (l *Life) Want(d *adapter.Desired) { l.want(wanted{desired: d, digest: d.Digest()}) }

// Wait says that the adapter cannot be, and why: its plugin or a secret is not
// there. What runs is drained.
func (l *Life) Wait(plugin, reason string) {
	l.mu.Lock()
	l.status.Plugin = plugin
	l.mu.Unlock()
	l.want(wanted{reason: reason})
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
	l.wanted = w
	l.announce()
	l.mu.Unlock()
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// Status returns where it is, and a channel that is closed at the next change.
func (l *Life) Status() (adapter.Status, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status, l.changed
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

// run is the state machine. Everything that changes what runs happens here.
func (l *Life) run() {
	defer close(l.done)
	var (
		cur     *running
		failed  tool.Digest // the digest that came to nothing
		last    tool.Digest // the digest that temper is about
		temper  = newTemper()
		retry   *time.Timer
		retryAt <-chan time.Time
	)
	rest := func() {
		if retry != nil {
			retry.Stop()
		}
		retryAt = nil
	}
	for {
		l.mu.Lock()
		w := l.wanted
		l.mu.Unlock()
		if cur != nil && cur.ended() {
			l.crashed(cur)
			l.discard(cur)
			if w.digest != cur.digest {
				// Another one is wanted, and nothing serves any more: it is
				// tried at once, whatever came of it before.
				rest()
				failed = tool.Digest{}
			} else {
				if last != w.digest {
					temper, last = newTemper(), w.digest
				}
				delay, again := temper.crashed(time.Since(cur.since), cur.desired.Limits.Restarts)
				if delay > 0 {
					retry = time.NewTimer(delay)
					retryAt = retry.C
				}
				if delay > 0 || !again {
					failed = w.digest
					l.pause(delay)
				}
			}
			// The dead one stays in the registry, so that its tools stay listed
			// and calls of them wait for the next.
			cur = nil
		}
		switch {
		case w.stop:
			rest()
			l.leave(cur, adapter.Stopped, "")
			l.drains.Wait()
			l.update(func(s *adapter.Status) { s.State, s.PID, s.Tools, s.Retry = adapter.Stopped, 0, 0, nil })
			return
		case w.desired == nil && w.reason == "": // nothing was said yet
		case w.desired == nil:
			rest()
			last, failed = tool.Digest{}, tool.Digest{}
			l.leave(cur, adapter.Waiting, w.reason)
			cur = nil
		case cur != nil && cur.digest == w.digest:
			if !failed.IsZero() { // another one was wanted meanwhile
				rest()
				failed = tool.Digest{}
				l.resume(cur)
			}
		case w.digest == failed && temper.quarantined():
		case w.digest == failed && retryAt != nil: // it is not time yet
		default:
			if w.digest != last {
				temper, last = newTemper(), w.digest
			}
			rest()
			next, err := l.start(w, cur)
			if err == nil {
				cur, failed = next, tool.Digest{}
				break
			}
			failed = w.digest
			delay, again := temper.failed(err)
			if again {
				retry = time.NewTimer(delay)
				retryAt = retry.C
			}
			l.failed(w, cur, err, delay)
			continue // what is wanted may have changed meanwhile
		}
		var ended <-chan struct{}
		var updates <-chan update
		if cur != nil {
			ended, updates = cur.instance.Done(), cur.updates
		}
		select {
		case <-l.signal:
		case <-retryAt:
			retryAt = nil
		case u := <-updates:
			l.refresh(cur, u)
		case <-ended:
		}
	}
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
		s.PID, s.Version = 0, ""
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
