// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/store"
)

// lease says until when this host answers for its open intents. All times are
// the store's, in microseconds.
type lease struct {
	term  int64
	until int64
}

// holdLease makes sure that the lease outlasts the intent that is about to be
// written. The background renews it long before; but a process may have been
// stopped, or the clock set.
func (w *writer) holdLease() error {
	left := w.tx.lease - w.tx.now
	if left > w.lease.term/2 && left <= w.lease.term {
		return nil
	}
	return w.renewLease()
}

func (w *writer) renewLease() error {
	err := w.exec(`INSERT INTO hosts (host, opened, expires) VALUES (?, ?, ?)
		ON CONFLICT (host) DO UPDATE SET expires = excluded.expires, ended = NULL`, w.bindLease)
	if err == nil {
		w.tx.lease = w.tx.now + w.lease.term
		w.at("lease renewed")
	}
	return err
}

func (w *writer) bindLease(b *binder) {
	b.text(w.host)
	b.number(w.tx.now)
	b.number(w.tx.now + w.lease.term)
}

// greet makes this host known to the others: it begins its lease.
func (w *writer) greet() error {
	known, err := w.exists("SELECT 1 FROM hosts WHERE host = ?1 UNION ALL SELECT 1 FROM heads WHERE host = ?1",
		func(b *binder) { b.text(w.host) })
	switch {
	case err != nil:
		return err
	case known:
		return fmt.Errorf("%w: %s", store.ErrHost, w.host)
	}
	if err := w.exec("INSERT INTO hosts (host, opened, expires) VALUES (?, ?, ?)", w.bindLease); err != nil {
		return err
	}
	w.tx.lease = w.tx.now + w.lease.term
	return w.signMigrated()
}

// farewell ends the lease and the chain. What this host has begun and not ended
// is reported by the others.
func (w *writer) farewell() {
	err := w.atomically(true, func() error {
		if err := w.markNews(); err != nil {
			return err
		}
		return w.exec("UPDATE hosts SET ended = ?2, expires = min(expires, ?2) WHERE host = ?1", func(b *binder) {
			b.text(w.host)
			b.number(w.tx.now)
		})
	})
	if err != nil { // the lease ends by itself
		w.log.LogAttrs(context.Background(), slog.LevelWarn, "the end of this host is not in the store",
			slog.String("host", w.host), slog.Any("error", err))
	}
}

// Alive reports whether a host holds its lease. One that the store does not know
// does not.
func (r *Reader) Alive(ctx context.Context, host string) (alive bool, err error) {
	err = r.use(ctx, func(conn *sqlite3.Conn) error {
		return each(conn, "SELECT ended IS NULL AND expires > "+clock+" FROM hosts WHERE host = ?",
			func(b *binder) { b.text(host) },
			func(s *scanner) { alive = s.flag() })
	})
	return alive, err
}
