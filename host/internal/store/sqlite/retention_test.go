// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
)

func TestTheSweepForgetsArgumentsAndWhatIsOver(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"), Options{})
	ask := func(call string, expires time.Duration) string {
		r, err := s.Ask(t.Context(), approval.Record{
			Mode: approval.Deferred, Principal: "p", Call: call, Tool: "t", Args: []byte(`{"a":1}`),
		}, expires, approval.Quota{})
		check(t, err)
		return r.ID
	}
	decided := approval.Decision{Approve: true, By: "o", Edited: []byte("{}")}
	old, recent := ask("old", time.Hour), ask("recent", 3*time.Hour)
	for _, id := range []string{old, recent} {
		_, err := s.Decide(t.Context(), id, decided)
		check(t, err)
	}
	round := func(round string, until time.Time) error {
		return s.Begin(t.Context(), executor.Intent{Round: round, RoundUntil: until})
	}
	check(t, round("over", time.Now().Add(-2*keepRounds)))
	check(t, round("lasts", time.Now().Add(time.Hour)))
	check(t, round("for ever", time.Time{}))
	rec := benchRecord(false)
	rec.Once = "line"
	check(t, s.End(t.Context(), rec))

	// As if two hours had passed since everything expired.
	check(t, s.do(t.Context(), 0, func(w *writer) error { return w.sweep(-2 * time.Hour) }))

	for id, kept := range map[string]bool{old: false, recent: true} {
		r, err := s.Approval(t.Context(), id)
		check(t, err)
		if (r.Args != nil) != kept || (r.Edited != nil) != kept || r.Status != approval.Approved || r.DecidedBy != "o" {
			t.Errorf("%+v, want its arguments kept: %t", r, kept)
		}
	}
	check(t, round("over", time.Now()))
	for _, name := range []string{"lasts", "for ever"} {
		if err := round(name, time.Now()); !errors.Is(err, executor.ErrRoundSpent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, s.End(t.Context(), rec)) // known still
	if n, err := s.Newest(t.Context()); n != 3 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	if alive, err := s.Alive(t.Context(), s.Host()); !alive || err != nil {
		t.Errorf("alive: %t, %v", alive, err)
	}
}
