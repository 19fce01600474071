// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

func TestABeginHoldsALease(t *testing.T) {
	const hour = int64(time.Hour / time.Microsecond)
	for name, until := range map[string]func(now int64) int64{
		"that has run out":                        func(now int64) int64 { return now - hour },
		"that is about to run out":                func(now int64) int64 { return now + hour/4 },
		"though the clock was set back by a week": func(now int64) int64 { return now + 7*24*hour },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "x.db"), Options{Lease: time.Hour})
			set := func(w *writer) error {
				w.tx.lease = until(w.tx.now)
				return w.exec("UPDATE hosts SET expires = ?", func(b *binder) { b.number(w.tx.lease) })
			}
			check(t, s.do(t.Context(), 0, set))
			check(t, s.Begin(t.Context(), executor.Intent{Row: benchRecord(false).Row, Durable: true}))
			var left int64
			check(t, s.do(t.Context(), 0, func(w *writer) error {
				return w.query("SELECT expires - "+clock+" FROM hosts", nil, func(s *scanner) { left = s.number() })
			}))
			if left <= hour/2 || left > hour {
				t.Errorf("%v are left", time.Duration(left)*time.Microsecond)
			}
		})
	}
}

func TestAHostIsAliveUntilItCloses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), path, Options{Host: "host_A"})
	check(t, err)
	other := open(t, path, Options{})
	alive := func(host string, want bool) {
		t.Helper()
		if got, err := other.Alive(t.Context(), host); got != want || err != nil {
			t.Errorf("%s is alive: %t, %v", host, got, err)
		}
	}
	alive("host_A", true)
	alive("host_B", false)
	if _, err := Open(t.Context(), path, Options{Host: "host_A"}); !errors.Is(err, store.ErrHost) {
		t.Errorf("the same host opened again: %v", err)
	}
	check(t, s.Close(t.Context()))
	alive("host_A", false)
	if _, err := Open(t.Context(), path, Options{Host: "host_A"}); !errors.Is(err, store.ErrHost) {
		t.Errorf("a host that has ended opened again: %v", err)
	}
}
