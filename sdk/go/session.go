// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"io"
	"log/slog"
	"sync"
)

// session is one successful configuration: its state and the calls that use it.
type session struct {
	state   any
	adapter Adapter
	live    *live

	users   int  // calls that use it; guarded by sessions.mu
	retired bool // replaced: closed by the last user
}

// sessions is the session of the moment, and those before it that still have
// calls. The zero value has none.
type sessions struct {
	mu      sync.Mutex
	current *session
	open    sync.WaitGroup // sessions that are not closed yet
}

// acquire returns the session that a new call works with; release it.
func (s *sessions) acquire() (*session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, false
	}
	s.current.users++
	return s.current, true
}

func (s *sessions) release(used *session, log *slog.Logger) {
	s.mu.Lock()
	used.users--
	last := used.retired && used.users == 0
	s.mu.Unlock()
	if last {
		s.close(used, log)
	}
}

// replace makes next the session of new calls; nil: none. The one before it is
// closed at once if nobody uses it, and by its last call otherwise.
func (s *sessions) replace(next *session, log *slog.Logger) {
	s.mu.Lock()
	old := s.current
	s.current = next
	if next != nil {
		s.open.Add(1)
	}
	idle := false
	if next != nil {
		next.live.serving.Store(true)
	}
	if old != nil {
		old.live.serving.Store(false)
		old.retired = true
		idle = old.users == 0
	}
	s.mu.Unlock()
	if idle {
		s.close(old, log)
	}
}

// now is the session of the moment, to look at; nil: there is none.
func (s *sessions) now() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

func (s *sessions) close(old *session, log *slog.Logger) {
	defer s.open.Done()
	closer, ok := old.state.(io.Closer)
	if !ok {
		return
	}
	err := guard(log, "close", closer.Close)
	if err != nil {
		log.Warn("closing the plugin's state", "error", err)
	}
}
