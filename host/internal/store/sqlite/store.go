// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var (
	_ executor.Journal   = (*Store)(nil)
	_ executor.Approvals = (*Store)(nil)
)

// Options of a Store. The zero Options are the defaults.
type Options struct {
	// Host names this host instance: its rows, its intents and its chain. Empty:
	// one is made up. It must not have been on the store before.
	Host string
	// Lease is how long the others wait for a host that is not heard of before
	// they report what it has begun as unknown; default 15 s. It is renewed each
	// third of it.
	Lease time.Duration
	// Signer signs this host's chain; nil: it is not signed.
	Signer *ledger.Signer
	// Digest is what the ledger says of the arguments of an approval in the row
	// of its decision: a keyed digest; nil: nothing.
	Digest func(args []byte) tool.Digest
	// Checkpoint is after how many rows of this host a checkpoint is written;
	// default 1,000. Others are written with the first rows of a host, when the
	// store is closed, and after 30 s with rows in none.
	Checkpoint int
	// Receivers are who is told of the events of approvals: for each event, names
	// by which Due gives out what they are to be told.
	Receivers map[approval.Event][]string
	// Retention is how long the arguments of an approval are kept after it would
	// have expired; default 7 days.
	Retention time.Duration
	// Log hears of rows that were lost, of lost calls of other hosts and of
	// failed checkpoints; nil: nobody.
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

	// fault is called at named places of a transaction; nil: nothing is.
	fault func(point string)
}

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host = tool.NewID("host_")
	}
	if o.Lease <= 0 {
		o.Lease = 15 * time.Second
	}
	if o.Digest == nil {
		o.Digest = func([]byte) tool.Digest { return tool.Digest{} }
	}
	if o.Checkpoint <= 0 {
		o.Checkpoint = 1000
	}
	if o.Retention <= 0 {
		o.Retention = 7 * 24 * time.Hour
	}
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
	host    string
	log     *slog.Logger
	queue   *queue
	writer  *writer
	stop    context.CancelFunc // of the store's own work
	written chan struct{}      // closed when all of it has ended
}

// Open opens the store in the file at path, whose directory must exist and
// should be the user's alone (0700). It creates the file (0600), brings an older
// schema up to date, begins the lease of this host, and reports what lost hosts
// have begun. It returns store.ErrForeign for a file that is not ours and
// store.ErrNewer for one that is of a newer schema; both are left alone. ctx
// bounds opening only.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	conn, id, err := openWriter(ctx, path, opts.Busy)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	s, err := newStore(ctx, conn, path, id, opts)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	return s, nil
}

// newStore takes the connection over, and closes it if there is an error.
func newStore(ctx context.Context, conn *sqlite3.Conn, path, id string, opts Options) (*Store, error) {
	opts.Log = opts.Log.With("store", path)
	s := &Store{
		Reader:  newReader(path, id, new(bell)),
		host:    opts.Host,
		log:     opts.Log,
		queue:   newQueue(opts.Queue, opts.Batch, opts.Behind),
		written: make(chan struct{}),
	}
	w, err := newWriter(conn, s.queue, s.bell, &s.waiters, opts)
	if err != nil {
		_ = conn.Close() // what went wrong before matters
		return nil, err
	}
	forever := conn.SetInterrupt(ctx)
	if err := w.enter(); err != nil {
		_ = w.close() // likewise
		return nil, ended(ctx, err)
	}
	conn.SetInterrupt(forever)
	s.writer = w
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { s.keep(ctx, opts) })
	running.Go(w.run)
	go func() {
		running.Wait()
		close(s.written)
	}()
	return s, nil
}

// enter makes this host known and reports what lost ones have begun.
func (w *writer) enter() error {
	// Not synced: whoever loses it to a power cut has lost its intents too.
	if err := w.atomically(false, w.greet); err != nil {
		return fmt.Errorf("beginning the lease: %w", err)
	}
	for n := recoveryBatch; n == recoveryBatch; {
		err := w.atomically(true, func() (err error) {
			n, err = w.recover()
			return err
		})
		if err != nil {
			return fmt.Errorf("reporting lost calls: %w", err)
		}
	}
	return nil
}

// Host names this host instance.
func (s *Store) Host() string { return s.host }

// Begin writes a durable intent and returns when it is on the disk; any other
// intent is not kept. What the intent spends is spent in the same transaction.
// It returns an *approval.StatusError, or approval.ErrNone if there is no such
// approval of this principal, call and tool; executor.ErrRoundSpent; a
// *limit.SpentError; and store.ErrBegun if the call has an open intent already. An error of ctx means
// that nothing was and will be written: once a transaction has taken the intent,
// Begin waits for it whatever ctx does.
func (s *Store) Begin(ctx context.Context, in executor.Intent) error {
	r := request{kind: intent, row: in.Row, spend: spend{
		approval: in.Approval, round: in.Round, intent: in.Durable || in.Approval != "",
		charges: in.Charges,
	}}
	// The intent's own field hides that of the row.
	r.row.Approval = cmp.Or(in.Row.Approval, in.Approval)
	if !in.RoundUntil.IsZero() {
		r.spend.until = in.RoundUntil.UnixMicro()
	}
	if !r.spend.intent && r.spend.round == "" && len(in.Charges) == 0 {
		if s.queue.isClosed() {
			return fmt.Errorf("begin %s: %w", in.Call, store.ErrClosed)
		}
		return nil
	}
	if err := s.queue.wait(ctx, &r); err != nil {
		return fmt.Errorf("begin %s: %w", in.Call, err)
	}
	return nil
}

// End writes a row, and removes the intent of the same call and start in the
// same transaction. If that was reported as unknown by another host, the row is
// Late. Host and Seq of the row are the store's. It returns when that is on the disk; for a row behind, as soon as the queue
// has room. Then a failure is logged and shown by Health.
//
// The row is written whatever ctx does. If ctx ends while End waits for the
// transaction, it returns store.ErrQueued; it does not give up waiting for room
// in the queue, since the row would be lost. After any other error the row was
// not and will not be written.
func (s *Store) End(ctx context.Context, rec executor.Record) error {
	r := request{kind: record, row: rec.Row, once: rec.Once, charged: rec.Settle}
	var err error
	if rec.Behind {
		err = s.queue.behind(&r)
	} else {
		err = s.queue.wait(ctx, &r)
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
	s.stop()
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
