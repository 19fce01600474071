// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

var _ executor.Journal = (*Store)(nil)

// Options of a Store. The zero Options are the defaults.
type Options struct {
	// Log hears of rows that were lost and of failed checkpoints; nil: nobody.
	Log *slog.Logger
	// Spill is given every row that End had accepted and that could not be
	// written, as counted by Health.Lost; nil: it is lost. The writer calls it
	// and waits for it.
	Spill func(ledger.Row, error)
	// Queue is how many rows and intents may wait; default 1,024. Callers
	// beyond it wait for room.
	Queue int
	// Batch is how many are written in one transaction; default 256. It bounds
	// how long other processes wait for the write lock: some milliseconds.
	Batch int
	// Behind is how long a row may lie before it is written when nobody waits
	// for it; default 50 ms, so that it is there within 100.
	Behind time.Duration
	// Busy is how long to wait for other processes' transactions; default 5 s.
	// A transaction that had to wait longer fails, and its callers are told.
	Busy time.Duration
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Spill == nil {
		o.Spill = func(ledger.Row, error) {}
	}
	if o.Queue <= 0 {
		o.Queue = 1024
	}
	if o.Batch <= 0 {
		o.Batch = 256
	}
	if o.Behind <= 0 {
		o.Behind = 50 * time.Millisecond
	}
	if o.Busy <= 0 {
		o.Busy = busy
	}
	return o
}

// busy is the default of Options.Busy, and what a Reader waits.
const busy = 5 * time.Second

// Store writes and reads one file. It is safe for concurrent use.
type Store struct {
	*Reader
	queue   *queue
	writer  *writer
	written chan struct{} // closed when the writer has ended
}

// Open opens the store in the file at path, whose directory must exist and
// should be the user's alone (0700). It creates the file (0600), and brings an
// older schema up to date. It returns store.ErrForeign for a file that is not
// ours and store.ErrNewer for one that is of a newer schema; both are left
// alone. ctx bounds opening only.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	conn, id, err := openWriter(ctx, path, opts.Busy)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	bell := new(bell)
	opts.Log = opts.Log.With("store", path)
	q := newQueue(opts.Queue, opts.Batch, opts.Behind)
	w, err := newWriter(conn, q, bell, opts)
	if err != nil {
		_ = conn.Close() // what went wrong before matters
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	s := &Store{
		Reader:  newReader(path, id, bell),
		queue:   q,
		writer:  w,
		written: make(chan struct{}),
	}
	go func() {
		defer close(s.written)
		w.run()
	}()
	return s, nil
}

// Begin writes a durable intent and returns when it is on the disk; any other
// intent is not kept. It returns store.ErrBegun if the call has an open intent
// already. An error of ctx means that nothing was and will be written: once a
// transaction has taken the intent, Begin waits for it whatever ctx does.
func (s *Store) Begin(ctx context.Context, in executor.Intent) error {
	if !in.Durable {
		if s.queue.isClosed() {
			return fmt.Errorf("begin %s: %w", in.Call, store.ErrClosed)
		}
		return nil
	}
	if err := s.queue.wait(ctx, intent, &in.Row); err != nil {
		return fmt.Errorf("begin %s: %w", in.Call, err)
	}
	return nil
}

// End writes a row, and removes the intent of its call in the same transaction.
// It returns when that is on the disk; for a row behind, as soon as the queue
// has room. Then a failure is logged and shown by Health.
//
// The row is written whatever ctx does. If ctx ends while End waits for the
// transaction, it returns store.ErrQueued; it does not give up waiting for room
// in the queue, since the row would be lost. After any other error the row was
// not and will not be written.
func (s *Store) End(ctx context.Context, rec executor.Record) error {
	var err error
	if rec.Behind {
		err = s.queue.behind(&rec.Row)
	} else {
		err = s.queue.wait(ctx, record, &rec.Row)
	}
	if err != nil {
		return fmt.Errorf("end %s: %w", rec.Call, err)
	}
	return nil
}

// Health says how the store fares.
func (s *Store) Health() store.Health {
	h := s.writer.health()
	h.Queued = s.queue.len()
	return h
}

// Close refuses what comes from now on, writes and syncs what has queued, and
// ends all readers. When ctx ends first it returns its error; the rest is
// written all the same while the process lives. Closing again waits likewise.
func (s *Store) Close(ctx context.Context) error {
	s.queue.close()
	select {
	case <-s.written:
	case <-ctx.Done():
		return fmt.Errorf("store %s: closing, %d still queued: %w", s.path, s.queue.len(), ctx.Err())
	}
	if err := s.Reader.Close(); err != nil {
		return err
	}
	if err := s.writer.closed; err != nil {
		return fmt.Errorf("store %s: closing: %w", s.path, err)
	}
	return nil
}
