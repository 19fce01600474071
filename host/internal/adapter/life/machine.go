// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"errors"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// machine is the state machine of a life. Everything that changes what runs
// happens in its one goroutine.
type machine struct {
	*Life

	cur    *running    // what serves; nil: nothing
	failed tool.Digest // what came to nothing
	last   tool.Digest // what temper is about
	temper *temper
	retry  *time.Timer // when failed is tried again; nil: not by itself

	restarts uint64 // that were done
}

func (m *machine) run() {
	defer close(m.done)
	for {
		m.mu.Lock()
		w := m.wanted
		m.mu.Unlock()
		if m.cur != nil && m.cur.ended() {
			m.bury(w)
		}
		if w.stop {
			m.end()
			return
		}
		if m.step(w) {
			m.wait()
		}
	}
}

// lose lets go of an instance that has ended by itself. It stays in the
// registry, so that its tools stay listed and calls of them wait for the next.
func (m *machine) lose() (dead *running) {
	dead = m.cur
	m.cur = nil
	m.crashed(dead)
	m.discard(dead)
	return dead
}

// bury deals with what has ended by itself while nothing was started.
func (m *machine) bury(w wanted) {
	dead := m.lose()
	if w.digest != dead.digest {
		// Another one is wanted, and nothing serves any more: it is tried at
		// once, whatever came of it before.
		m.forget()
		return
	}
	m.about(w)
	delay, again := m.temper.crashed(time.Since(dead.since), dead.desired.Limits.Restarts)
	if delay == 0 && again {
		return
	}
	m.failed = w.digest
	if again {
		m.retry = time.NewTimer(delay)
	}
	m.pause(delay)
}

// step takes one step towards what is wanted, and reports whether there is
// nothing to do but to wait.
func (m *machine) step(w wanted) (rested bool) {
	if m.cur != nil && w.desired != nil {
		m.accede(m.cur, w)
	}
	switch {
	case w.restarts != m.restarts:
		return m.restart(w)
	case w.desired == nil && w.reason == "": // nothing was said yet
	case w.desired == nil:
		m.forget()
		m.last = tool.Digest{}
		m.leave(m.cur, adapter.Waiting, w.reason)
		m.cur = nil
	case m.cur != nil && m.cur.digest == w.digest:
		if !m.failed.IsZero() { // another one was wanted meanwhile
			m.forget()
			m.resume(m.cur)
		}
	case w.digest == m.failed && (m.temper.quarantined() || m.retry != nil): // it is not time
	default:
		// If it failed: what is wanted may have changed meanwhile.
		return m.try(w) == nil
	}
	return true
}

// try starts what is wanted, beside what serves. A start is the one path, first,
// after a crash and in a swap: launch, configure, wait for the first catalogue,
// and only then offer it in the place of what served before.
func (m *machine) try(w wanted) error {
	m.about(w)
	m.forget()
	m.begin(w, m.cur)
	s := m.attend(w)
	err := s.err
	if err == nil {
		err = m.succeed(s, m.cur)
	}
	if err == nil {
		m.cur = s.running
		return nil
	}
	delay, again := m.temper.failed(err, w.desired.Limits.Restarts)
	if again && delay == 0 {
		m.stumbled(err)
		return err
	}
	m.failed = w.digest
	if again {
		m.retry = time.NewTimer(delay)
	}
	if _, ok := errors.AsType[*adapter.UnpinnedError](err); ok && (m.cur == nil || m.cur.desired.Program.Pin != w.desired.Program.Pin) {
		m.config.Log.Error("adapter waits", "adapter", m.config.Name, "reason", err)
		m.leave(m.cur, adapter.Waiting, err.Error())
		m.cur = nil
		return err
	}
	m.Life.failed(w, m.cur, err, delay)
	return err
}

// attend waits for a start to end. What serves may crash meanwhile: nobody is to
// be told then that it is ready, and its calls wait for the new one.
func (m *machine) attend(w wanted) started {
	over := make(chan started, 1)
	go func() { over <- m.start(w) }()
	var ended <-chan struct{}
	var ill <-chan error
	if m.cur != nil {
		ended, ill = m.cur.instance.Done(), m.cur.ill
	}
	for {
		select {
		case s := <-over:
			return s
		case why := <-ill:
			m.putDown(m.cur, why)
		case <-ended:
			ended, ill = nil, nil
			m.lose()
		}
	}
}

// about makes temper that of what is wanted.
func (m *machine) about(w wanted) {
	if w.digest != m.last {
		m.temper, m.last = newTemper(), w.digest
	}
}

// forget forgets what came to nothing.
func (m *machine) forget() {
	if m.retry != nil {
		m.retry.Stop()
	}
	m.retry, m.failed = nil, tool.Digest{}
}

// wait waits until there may be something to do.
func (m *machine) wait() {
	var ended <-chan struct{}
	var updates <-chan update
	var ill <-chan error
	if m.cur != nil {
		ended, updates, ill = m.cur.instance.Done(), m.cur.updates, m.cur.ill
	}
	var again <-chan time.Time
	if m.retry != nil {
		again = m.retry.C
	}
	select {
	case <-m.signal:
	case <-again:
		m.retry = nil
	case <-m.known:
		if m.cur != nil {
			m.refresh(m.cur, update{catalog: m.cur.newest})
		}
	case u := <-updates:
		m.refresh(m.cur, u)
	case why := <-ill:
		m.putDown(m.cur, why)
	case <-ended:
	}
}

// end ends the life.
func (m *machine) end() {
	m.forget()
	m.leave(m.cur, adapter.Stopped, "")
	m.drains.Wait()
	m.update(func(s *adapter.Status) { s.State, s.PID, s.Tools, s.Retry = adapter.Stopped, 0, 0, nil })
}
