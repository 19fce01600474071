// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"errors"
	"fmt"
)

// answer is what came of a restart.
type answer struct {
	number uint64
	err    error
}

// Restart starts a fresh instance of what is wanted, at once, whatever came of it
// before, and puts it in the place of what serves. It returns what came of it; if
// that is an error, what served before serves on. The restart goes on when ctx
// ends.
func (l *Life) Restart(ctx context.Context) error {
	l.mu.Lock()
	l.wanted.restarts++
	number := l.wanted.restarts
	l.mu.Unlock()
	l.nudge()
	for {
		l.mu.Lock()
		came, changed := l.restarted, l.changed
		l.mu.Unlock()
		if came.number >= number {
			return came.err
		}
		select {
		case <-changed:
		case <-l.done:
			return fmt.Errorf("adapter %s has ended", l.config.Name)
		case <-ctx.Done():
			return fmt.Errorf("adapter %s is being restarted: %w", l.config.Name, ctx.Err())
		}
	}
}

// restart does what Restart says, and reports whether there is nothing more to do.
func (m *machine) restart(w wanted) (rested bool) {
	err := errors.New("it is waiting: " + w.reason)
	if w.desired != nil {
		m.temper, m.last = newTemper(), w.digest // an operator knows better
		err = m.try(w)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restarts, m.restarted = w.restarts, answer{w.restarts, err}
	m.announce()
	return false
}
