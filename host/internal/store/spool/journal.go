// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/store"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var _ executor.Journal = (*Journal)(nil)

// ErrSpooled is executor.ErrSpooled: the row is in the spool and will be in the
// ledger.
var ErrSpooled = executor.ErrSpooled

// Why a call with effects does not begin.
var (
	// ErrWaiting: rows in the spool could not be given to the store.
	ErrWaiting = errors.New("earlier calls are not recorded in the ledger yet")
	// ErrFloor: the disk is nearly full.
	ErrFloor = errors.New("too little space is left on the disk")
)

// held is how many rows are kept in memory when even the spool cannot be
// written; more are lost.
const held = 10_000

// Options of a Journal. Host is needed.
type Options struct {
	// Host names this host instance, as in the store.
	Host string
	// Alive reports whether a host holds its lease: sqlite's Alive. The rows of
	// one that does not are this host's to give to the store. nil: those of
	// others are left alone.
	Alive func(ctx context.Context, host string) (bool, error)
	// Floor is how many bytes have to be free where the spool is for a call with
	// effects to begin; default 64 MiB, negative: none. It is looked at once a
	// second, and not on systems that do not tell.
	Floor int64
	// Log hears of rows that were spooled, given to the store or lost, and of
	// lines that are none; nil: nobody.
	Log *slog.Logger
}

// Journal is a journal that loses no row. It is safe for concurrent use.
type Journal struct {
	inner executor.Journal
	dir   string
	host  string
	alive func(context.Context, string) (bool, error)
	log   *slog.Logger
	floor floor

	flushing chan struct{} // holds a token while somebody flushes
	kick     chan struct{} // something was spooled
	stop     context.CancelFunc
	stopped  chan struct{}

	// mu is held for writing the file, never while the store is asked: its
	// writer calls Spill.
	mu    sync.Mutex
	held  []line
	dirty bool // something may wait
}

// New returns a Journal that spools to dir, which it makes. Its Spill can be
// given to the store at once; everything else waits for Start.
func New(dir string, o Options) (*Journal, error) {
	if o.Host == "" {
		return nil, errors.New("spool: no host")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	if o.Floor == 0 {
		o.Floor = DefaultFloor
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Journal{
		dir: dir, host: o.Host, alive: o.Alive, log: o.Log.With("spool", dir),
		floor:    floor{dir: dir, least: o.Floor},
		flushing: make(chan struct{}, 1), kick: make(chan struct{}, 1), stopped: make(chan struct{}),
		dirty: true, // what was left here is found by the first flush
	}, nil
}

// Start puts j before inner, gives it what hosts that have gone have left, and
// goes on doing so in the background until Stop. What cannot be given yet is no
// error. It must be called once, before Begin and End.
func (j *Journal) Start(ctx context.Context, inner executor.Journal) {
	j.inner = inner
	if err := j.flush(ctx); err != nil {
		j.log.Warn("rows wait for the store", "error", err)
	}
	ctx, j.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(j.stopped)
		j.keep(ctx)
	}()
}

// Stop ends the work in the background, after it has tried once more. It comes
// before the store's Close; Spill works on.
func (j *Journal) Stop(ctx context.Context) error {
	j.stop()
	<-j.stopped
	if err := j.flush(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrWaiting, err)
	}
	return nil
}

// Begin begins a call, unless it has effects and rows wait that the store still
// refuses, or the disk is nearly full: ErrWaiting, ErrFloor.
func (j *Journal) Begin(ctx context.Context, in executor.Intent) error {
	if in.Durable || in.Approval != "" {
		if err := j.floor.check(); err != nil {
			return fmt.Errorf("begin %s: %w", in.Call, err)
		}
		if j.waiting() {
			if err := j.flush(ctx); err != nil {
				return fmt.Errorf("begin %s: %w: %w", in.Call, ErrWaiting, err)
			}
		}
	}
	return j.inner.Begin(ctx, in)
}

// End records a call. If the store cannot take the row and the spool has it, the
// error is ErrSpooled and says why. After any other error but store.ErrQueued
// the row is kept in memory at best. What could never be right,
// store.ErrTooLarge, is not spooled.
func (j *Journal) End(ctx context.Context, rec executor.Record) error {
	err := j.inner.End(ctx, rec)
	if err == nil || errors.Is(err, store.ErrQueued) || errors.Is(err, store.ErrTooLarge) {
		return err
	}
	if spooling := j.put(newLine(rec), err); spooling != nil {
		return fmt.Errorf("%w; spooling it: %w", err, spooling)
	}
	return fmt.Errorf("%w: %w", ErrSpooled, err)
}

// Spill spools a row that the store had accepted and cannot write.
func (j *Journal) Spill(row ledger.Row, why error) {
	_ = j.put(newLine(executor.Record{Row: row}), why) // which has said so
}

// line is a row in the spool. The row is under the names of its fields, so that
// none can be forgotten; testdata has a line that has to be read for ever.
type line struct {
	ID     string         `json:"id"`
	Row    ledger.Row     `json:"row"`
	Settle []limit.Charge `json:"settle,omitempty"`
}

func newLine(rec executor.Record) line {
	l := line{ID: rec.Once, Row: rec.Row, Settle: rec.Settle}
	if l.ID == "" {
		l.ID = tool.NewID("spl_")
	}
	return l
}

// put spools a row, or else keeps it in memory and returns why.
func (j *Journal) put(l line, why error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dirty = true
	err := j.append(l)
	switch {
	case err == nil:
		j.log.Error("the ledger took no row: it was spooled", "call", l.Row.Call, "error", why)
	case len(j.held) < held:
		j.held = append(j.held, l)
		j.log.Error("neither ledger nor spool took a row: it is in memory only",
			"call", l.Row.Call, "error", why, "spool_error", err)
	default:
		j.log.Error("a row was lost", "call", l.Row.Call, "error", why, "spool_error", err)
	}
	select {
	case j.kick <- struct{}{}:
	default: // it is about to look
	}
	return err
}

// Fault is why a call with effects may not begin at this moment, nil if nothing
// stands in its way: ErrFloor or ErrWaiting.
func (j *Journal) Fault() error {
	if err := j.floor.check(); err != nil {
		return err
	}
	if j.waiting() {
		return ErrWaiting
	}
	return nil
}

func (j *Journal) waiting() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dirty
}

// keep flushes in the background: soon after something was spooled, then ever
// more seldom, and now and then for those who have gone.
func (j *Journal) keep(ctx context.Context) {
	const first, last = 100 * time.Millisecond, 30 * time.Second
	pause := last
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-j.kick:
			timer.Stop()
			pause = first
			continue
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, last)
		if err := j.flush(ctx); err != nil && ctx.Err() == nil {
			j.log.Warn("rows wait for the store", "error", err)
		}
	}
}
