// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

// Reader reads a store. It is safe for concurrent use: readers take turns for
// some milliseconds each, and none holds a transaction while its caller works on
// what it was given.
type Reader struct {
	path string
	id   string
	bell *bell         // rung by this process's writer; nil without one
	done chan struct{} // closed by Close

	waiters waiters

	mu     sync.Mutex
	conn   *sqlite3.Conn // nil until it is needed
	closed bool
}

// OpenReader opens the store at path for reading, whether or not a host has it
// open. It never creates one: a missing file is fs.ErrNotExist. Otherwise it
// returns the errors of Open.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	conn, id, err := openReader(ctx, path, busy)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	r := newReader(path, id, nil)
	r.conn = conn
	return r, nil
}

func newReader(path, id string, b *bell) *Reader {
	return &Reader{path: path, id: id, bell: b, done: make(chan struct{})}
}

// ID is the store's own, chosen at random when it was made; all its processes
// see the same.
func (r *Reader) ID() string { return r.id }

// Close ends what is being read, with store.ErrClosed.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	close(r.done)
	if r.conn == nil {
		return nil
	}
	return r.conn.Close()
}

// Newest returns the Seq of the newest row, 0 if there is none.
func (r *Reader) Newest(ctx context.Context) (seq int64, err error) {
	err = r.use(ctx, func(conn *sqlite3.Conn) (err error) {
		seq, err = readNumber(conn, newestSeq)
		return err
	})
	return seq, err
}

// Rows yields the rows that q selects, the oldest first, up to the newest one
// of the moment when it begins. An error, that of ctx for example, is the last
// thing that it yields.
func (r *Reader) Rows(ctx context.Context, q ledger.Query) iter.Seq2[ledger.Row, error] {
	return func(yield func(ledger.Row, error) bool) {
		newest, err := r.Newest(ctx)
		if err != nil {
			yield(ledger.Row{}, err)
			return
		}
		sel := newSelection(q)
		if q.Last > 0 {
			if err := r.skip(ctx, sel, q.Last, newest); err != nil {
				yield(ledger.Row{}, err)
				return
			}
		}
		r.each(ctx, sel, newest, yield)
	}
}

// each yields the rows of sel up to seq, and moves it on. It reports whether to
// go on.
func (r *Reader) each(ctx context.Context, sel *selection, upTo int64, yield func(ledger.Row, error) bool) bool {
	var page []ledger.Row
	for sel.after < upTo {
		err := r.use(ctx, func(conn *sqlite3.Conn) (err error) {
			page, err = sel.page(conn, page[:0], upTo)
			return err
		})
		if err != nil {
			yield(ledger.Row{}, err)
			return false
		}
		for _, row := range page {
			if !yield(row, nil) {
				return false
			}
		}
	}
	return true
}

// skip moves sel on, to the last n rows of what it selects up to seq.
func (r *Reader) skip(ctx context.Context, sel *selection, n int, upTo int64) error {
	for hi := upTo; n > 0 && hi > sel.after; {
		err := r.use(ctx, func(conn *sqlite3.Conn) (err error) {
			n, hi, err = sel.back(conn, n, hi)
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			sel.after = hi
		}
	}
	return nil
}

// Intents yields the open intents: calls that were about to be sent and have
// not ended, in no particular order. Of each row it knows what was known then.
func (r *Reader) Intents(ctx context.Context) iter.Seq2[ledger.Row, error] {
	return func(yield func(ledger.Row, error) bool) {
		after := ""
		for {
			var page []ledger.Row
			err := r.use(ctx, func(conn *sqlite3.Conn) (err error) {
				page, err = intentsAfter(conn, after)
				return err
			})
			if err != nil {
				yield(ledger.Row{}, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
				after = row.Call
			}
			if len(page) < pageRows {
				return
			}
		}
	}
}

// Used returns what a run has used of what it may use, by limit.Charge.What.
func (r *Reader) Used(ctx context.Context, run string) (map[string]int64, error) {
	used := map[string]int64{}
	err := r.use(ctx, func(conn *sqlite3.Conn) error {
		return each(conn, "SELECT what, used FROM counts WHERE run = ?", func(b *binder) { b.text(run) }, func(s *scanner) {
			what := s.text()
			used[what] = s.number()
		})
	})
	return used, err
}

// use lends the connection for one bounded read, which ends early with ctx.
func (r *Reader) use(ctx context.Context, read func(*sqlite3.Conn) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.closed {
		return fmt.Errorf("store %s: %w", r.path, store.ErrClosed)
	}
	if r.conn == nil {
		conn, _, err := openReader(ctx, r.path, busy)
		if err != nil {
			return fmt.Errorf("store %s: %w", r.path, err)
		}
		r.conn = conn
	}
	forever := r.conn.SetInterrupt(ctx)
	err := read(r.conn)
	r.conn.SetInterrupt(forever)
	if err != nil {
		return fmt.Errorf("store %s: reading: %w", r.path, ended(ctx, err))
	}
	return nil
}
