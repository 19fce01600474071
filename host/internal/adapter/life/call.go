// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// patienceOfCalls is how long a call waits for an adapter that starts.
const patienceOfCalls = 5 * time.Second

// noticed is how long after a failed call an instance is taken to be ending: the
// end of a process is known a moment later than that of its connection.
const noticed = time.Second

// Run runs an attempt on this instance. If the instance died, a call that was
// not sent, or that may be repeated, is sent once more, to the next one: anything
// else might happen twice.
func (r *running) Run(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
	if !r.ended() {
		out, err := r.instance.Run(ctx, a)
		if err == nil {
			return out, nil
		}
		var e *tool.Error
		if !errors.As(err, &e) || e.Kind != tool.AdapterUnavailable || ctx.Err() != nil {
			return nil, err
		}
		if e.Sent && !r.repeatable(&a.Spec) || !r.ending(ctx) {
			return nil, e
		}
		again := *a
		again.N++
		a = &again
	}
	next, err := r.life.await(ctx, r, a)
	if err != nil {
		return nil, err
	}
	defer next.guests.Done()
	return next.instance.Run(ctx, a)
}

// repeatable reports whether a call may be sent once more although the first one
// may have been run: it only reads, or it says of itself that twice is as good as
// once, and what it says is pinned.
func (r *running) repeatable(s *tool.Spec) bool {
	return s.Effects.Effective() == tool.ReadOnly || s.Idempotent && !r.desired.Program.Pin.IsZero()
}

// ending reports whether the instance has ended, or does so in a moment.
func (r *running) ending(ctx context.Context) bool {
	moment := time.NewTimer(noticed)
	defer moment.Stop()
	select {
	case <-r.instance.Done():
		return true
	case <-moment.C:
	case <-ctx.Done():
	}
	return r.ended()
}

// await waits for an instance other than the dead one that declares exactly
// what was judged. The call is a guest of it, and must leave.
func (l *Life) await(ctx context.Context, dead *running, a *tool.Attempt) (*running, *tool.Error) {
	patience := time.NewTimer(patienceOfCalls)
	defer patience.Stop()
	for {
		next, status, changed, err := l.next(dead, a)
		switch {
		case next != nil || err != nil:
			return next, err
		case status.State == adapter.Starting, status.State == adapter.Ready: // Ready: its end was not noticed yet
		case status.Retry != nil:
			return nil, l.unavailable("it is "+string(status.State), max(time.Until(*status.Retry), time.Second))
		default:
			return nil, l.unavailable("it is "+string(status.State), 0)
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, l.unavailable("it did not start in time", time.Second)
		case <-ctx.Done():
			return nil, tool.Interrupted(ctx, "adapter "+l.config.Name+" was starting")
		}
	}
}

// next is the instance that serves in the place of the dead one, if there is
// one; else where the adapter is, and a channel that is closed at the next
// change.
func (l *Life) next(dead *running, a *tool.Attempt) (*running, adapter.Status, <-chan struct{}, *tool.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cur := l.current
	if cur == nil || cur == dead || cur.ended() {
		return nil, l.status, l.changed, nil
	}
	if a.Hooked == nil && !cur.specs[a.Spec.Digest] {
		return nil, l.status, l.changed, l.unavailable("the tool has changed; list the tools again", 0)
	}
	cur.guests.Add(1)
	return cur, l.status, l.changed, nil
}

func (l *Life) unavailable(why string, retry time.Duration) *tool.Error {
	return &tool.Error{
		Kind: tool.AdapterUnavailable, Code: "adapter_unavailable", RetryAfter: retry,
		Text: fmt.Sprintf("adapter %s is not available: %s", l.config.Name, why),
	}
}
