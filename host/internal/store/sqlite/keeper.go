// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"log/slog"
	"time"
)

// keep does the store's own work until ctx ends: it renews the lease, reports
// what lost hosts have begun, forgets, and writes checkpoints.
func (s *Store) keep(ctx context.Context, opts Options) {
	renew := time.NewTicker(max(opts.Lease/3, time.Millisecond))
	defer renew.Stop()
	look := time.NewTicker(opts.Lease)
	defer look.Stop()
	mark := time.NewTicker(checkpointPause)
	defer mark.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
			s.chore(ctx, "renewing the lease", (*writer).renewLease)
		case <-look.C:
			s.recover(ctx)
			s.chore(ctx, "forgetting", func(w *writer) error { return w.sweep(opts.Retention) })
		case <-mark.C:
			s.chore(ctx, "writing a checkpoint", (*writer).markNews)
		}
	}
}

// checkpointPause is how long a host may have news that are in none of its
// checkpoints.
const checkpointPause = 30 * time.Second

// recover reports everything that lost hosts have begun.
func (s *Store) recover(ctx context.Context) {
	for n := recoveryBatch; n == recoveryBatch; {
		n = 0
		s.chore(ctx, "reporting lost calls", func(w *writer) (err error) {
			n, err = w.recover()
			return err
		})
	}
}

// chore has the writer do something of the store's own. What fails is done again
// the next time.
func (s *Store) chore(ctx context.Context, what string, do func(*writer) error) {
	err := s.queue.wait(ctx, &request{kind: task, do: do, quiet: true})
	if err != nil && ctx.Err() == nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "store: "+what, slog.Any("error", err))
	}
}
