// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// How often a tail looks whether another process has written: soon after the
// last time, then ever more seldom.
const (
	pollFirst = 5 * time.Millisecond
	pollLast  = 200 * time.Millisecond
)

// Tail yields the rows that q selects as Rows does, then every further one as it
// comes, from whatever process: from this one at once, from others within 200
// ms. It ends with an error, that of ctx or store.ErrClosed.
//
// A tail of nothing but what is to come begins after Newest.
func (r *Reader) Tail(ctx context.Context, q ledger.Query) iter.Seq2[ledger.Row, error] {
	return func(yield func(ledger.Row, error) bool) {
		sel := newSelection(q)
		last := q.Last
		for {
			rung := r.bell.wait() // before looking: a row that comes meanwhile rings it
			version, newest, err := r.look(ctx)
			if err == nil && last > 0 {
				err = r.skip(ctx, sel, last, newest)
				last = 0
			}
			if err != nil {
				yield(ledger.Row{}, err)
				return
			}
			if !r.each(ctx, sel, newest, yield) {
				return
			}
			if err := r.await(ctx, rung, version); err != nil {
				yield(ledger.Row{}, err)
				return
			}
		}
	}
}

// look returns a number that changes when another connection has written, and
// the newest row.
func (r *Reader) look(ctx context.Context) (version, newest int64, err error) {
	err = r.use(ctx, func(conn *sqlite3.Conn) (err error) {
		if version, err = readNumber(conn, dataVersion); err == nil {
			newest, err = readNumber(conn, newestSeq)
		}
		return err
	})
	return version, newest, err
}

const dataVersion = "PRAGMA data_version"

// await returns when there may be something new: rung, or another version than
// seen.
func (r *Reader) await(ctx context.Context, rung <-chan struct{}, seen int64) error {
	timer := time.NewTimer(pollFirst)
	defer timer.Stop()
	for pause := pollFirst; ; {
		select {
		case <-rung:
			return nil
		case <-r.done: // use says so
		case <-ctx.Done():
		case <-timer.C:
		}
		var version int64
		err := r.use(ctx, func(conn *sqlite3.Conn) (err error) {
			version, err = readNumber(conn, dataVersion)
			return err
		})
		if err != nil || version != seen {
			return err
		}
		pause = min(2*pause, pollLast)
		timer.Reset(pause)
	}
}

// bell tells those who wait that something was written. The nil bell is never
// rung.
type bell struct {
	mu   sync.Mutex
	rung chan struct{} // nil if nobody waits
}

// wait returns a channel that is closed at the next ring.
func (b *bell) wait() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}
