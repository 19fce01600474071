// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
)

const (
	// calm is how long a crash counts, and how long an instance must have
	// lived for all that was before it to be forgotten.
	calm = time.Minute
	// patience is how often a start is tried again, with growing pauses,
	// before it is given up.
	patience = 5
	// slowest is the longest pause.
	slowest = time.Minute
)

// temper decides whether and when an adapter that failed is started again.
type temper struct {
	recent   []time.Time // crashes within calm
	failures int
	pauses   *backoff.ExponentialBackOff
}

func newTemper() *temper { return &temper{pauses: newPauses()} }

func newPauses() *backoff.ExponentialBackOff {
	p := backoff.NewExponentialBackOff()
	p.InitialInterval, p.MaxInterval = time.Second, slowest
	return p
}

// crashed: an instance ended by itself after having lived so long. Up to
// restarts crashes within calm cost no pause.
func (t *temper) crashed(lived time.Duration, restarts int) (pause time.Duration, again bool) {
	if lived >= calm {
		*t = *newTemper()
	}
	if t.count() <= restarts {
		return 0, true
	}
	return t.pause()
}

// count counts a crash of now, and returns how many there were within calm.
func (t *temper) count() int {
	now := time.Now()
	t.recent = slices.DeleteFunc(t.recent, func(at time.Time) bool { return now.Sub(at) >= calm })
	t.recent = append(t.recent, now)
	return len(t.recent)
}

// failed: a start came to nothing. What a plugin refused, or what it needs, may
// still come right (the database comes up), so it is never given up. A process
// that ends by itself when it is restarted after a crash is one more crash:
// whatever kills it does not care how far it had come.
func (t *temper) failed(err error, restarts int) (pause time.Duration, again bool) {
	var e *adapter.StartError
	switch ok := errors.As(err, &e); {
	case ok && e.Refused:
		return t.pauses.NextBackOff(), true
	case ok && e.Ended && len(t.recent) > 0 && t.count() <= restarts:
		return 0, true
	}
	_, bare := errors.AsType[*adapter.NeedsConfigError](err)
	if _, unpinned := errors.AsType[*adapter.UnpinnedError](err); bare || unpinned {
		t.failures = patience + 1
		return 0, false // only another configuration helps, or another program
	}
	return t.pause()
}

func (t *temper) pause() (time.Duration, bool) {
	t.failures++
	if t.quarantined() {
		return 0, false
	}
	return t.pauses.NextBackOff(), true
}

// quarantined: it is not tried again until something changes.
func (t *temper) quarantined() bool { return t.failures > patience }
