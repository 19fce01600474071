// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
)

func TestADecisionOfThisProcessNeedNotBePolledFor(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"), Options{})
	id := askBench(t, s)
	changed := s.waiters.join(id)
	defer s.waiters.leave(id)
	_, err := s.Decide(t.Context(), id, approval.Decision{By: "o"})
	check(t, err)
	<-changed // or never: nobody polls
}

func TestNobodyLooksForOthersWhenNobodyWaits(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"), Options{})
	id := askBench(t, s)
	done := make(chan error)
	go func() { done <- s.Await(t.Context(), id) }()
	polling := func() bool {
		s.waiters.mu.Lock()
		defer s.waiters.mu.Unlock()
		return s.waiters.polling
	}
	for !polling() {
		time.Sleep(time.Millisecond)
	}
	check(t, s.Withdraw(t.Context(), id))
	check(t, <-done)
	for polling() {
		time.Sleep(time.Millisecond)
	}
}

func askBench(t *testing.T, s *Store) (id string) {
	t.Helper()
	r, err := s.Ask(t.Context(), approval.Record{
		Mode: approval.Deferred, Principal: "p", Call: "c", Tool: "t", Args: []byte(`{}`),
	}, time.Hour, approval.Quota{})
	check(t, err)
	return r.ID
}
