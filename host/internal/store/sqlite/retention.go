// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import "time"

// How long the store remembers what only serves to tell that something has
// happened before. What could still be brought back is remembered longer than
// that lasts.
const (
	keepRounds  = time.Minute // longer than asked for
	keepSpooled = 30 * 24 * time.Hour
	// keepCounts is how long a run that does nothing keeps what it has used.
	keepCounts = 90 * 24 * time.Hour
)

// sweepBatch bounds a transaction of the sweep.
const sweepBatch = 100

// sweep forgets, a bounded number at a time. It changes no row of the ledger,
// and of an approval it removes the arguments only.
func (w *writer) sweep(keep time.Duration) error {
	for _, s := range []struct {
		sql string
		age time.Duration
	}{
		{`UPDATE approvals SET args = NULL, edited = NULL WHERE rowid IN
			(SELECT rowid FROM approvals WHERE args IS NOT NULL AND expires < ? LIMIT ?)`, keep},
		{"DELETE FROM rounds WHERE round IN (SELECT round FROM rounds WHERE until < ? LIMIT ?)", keepRounds},
		{"DELETE FROM spooled WHERE id IN (SELECT id FROM spooled WHERE at < ? LIMIT ?)", max(keep, keepSpooled)},
		{`DELETE FROM counts WHERE (run, what) IN
			(SELECT run, what FROM counts WHERE at < ? LIMIT ?)`, max(keep, keepCounts)},
		{"DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE at < ? LIMIT ?)", keepOutbox},
		{`DELETE FROM lost WHERE (call, started) IN
			(SELECT call, started FROM lost WHERE at < ? LIMIT ?)`, max(keep, keepSpooled)},
		{`DELETE FROM hosts WHERE host IN (SELECT host FROM hosts WHERE expires < ?
			AND host NOT IN (SELECT host FROM intents) LIMIT ?)`, max(keep, keepSpooled)},
	} {
		err := w.exec(s.sql, func(b *binder) {
			b.number(w.tx.now - s.age.Microseconds())
			b.number(sweepBatch)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
