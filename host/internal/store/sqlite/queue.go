// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

// kind is what an entry asks for.
type kind uint8

const (
	intent kind = iota // write an intent, spend what it spends
	record             // write a row, remove its intent
	task               // do something else
)

// request is what an entry asks for.
type request struct {
	kind kind
	row  ledger.Row
	// spend is of an intent.
	spend spend
	// once and charged are of a record: executor.Record.Once and Settle.
	once    string
	charged []limit.Charge
	// do is of a task. It runs inside the transaction, and again if that has to
	// be repeated; an error undoes what it did and nothing else.
	do func(*writer) error
	// quiet is a task that the store has set itself: it need not be on the disk
	// and is not counted.
	quiet bool
	// size of a task's texts in bytes.
	size int
}

// entry is one request on its way to the writer.
type entry struct {
	request

	// weight is the room that it takes in the queue.
	weight int64
	// waited: somebody waits on done, which has room for the one answer.
	waited bool
	done   chan error
	// err is the writer's, from the transaction to the answer.
	err error
	// fate is settled once, by the caller who stops waiting or by the writer:
	// when it takes an intent or a task, which must not be done for nobody, and
	// when it answers for a row, which must.
	fate atomic.Uint32
}

// countsOnly reports a begin that is only charged for. Its intent may be lost in a
// crash of the machine, and so may what it has counted.
func (e *entry) countsOnly() bool { return e.kind == intent && !e.spend.intent && e.spend.round == "" }

// Fates of an entry.
const (
	pending uint32 = iota
	left           // the caller has gone
	served         // the writer's answer comes, or has come
)

// settle tries to make f the entry's fate.
func (e *entry) settle(f uint32) bool { return e.fate.CompareAndSwap(pending, f) }

// queue holds the entries that wait for the writer, first come first served. It
// is bounded in number and, since a row takes as much room as it has KiB, in
// memory.
type queue struct {
	room   *semaphore.Weighted
	size   int64
	batch  int
	linger time.Duration
	pool   sync.Pool

	mu      sync.Mutex
	entries []*entry
	taken   int  // how many the writer has not answered
	waited  int  // how many of entries somebody waits for
	due     bool // the oldest entries have lain long enough
	closing bool

	// wake and timer tell the writer to look again. Rows behind set the timer
	// and nothing else, so they wake no thread.
	wake  chan struct{}
	timer *time.Timer
}

func newQueue(size, batch int, linger time.Duration) *queue {
	q := &queue{
		room:   semaphore.NewWeighted(int64(size)),
		size:   int64(size),
		batch:  min(batch, size),
		linger: linger,
		wake:   make(chan struct{}, 1),
		timer:  time.NewTimer(linger),
	}
	q.timer.Stop()
	q.pool.New = func() any { return &entry{done: make(chan error, 1)} }
	return q
}

// entry returns an entry for a request.
func (q *queue) entry(r *request, weight int64, waited bool) *entry {
	e := q.pool.Get().(*entry) //nolint:forcetypeassert // only entries are put
	e.request, e.weight, e.waited = *r, weight, waited
	return e
}

// recycle takes back an entry that nobody else holds.
func (q *queue) recycle(e *entry) {
	e.request, e.err = request{}, nil // let go of the texts
	e.fate.Store(pending)
	q.pool.Put(e)
}

// behind queues a row that nobody waits for.
func (q *queue) behind(r *request) error {
	weight, err := q.weigh(r)
	if err != nil {
		return err
	}
	// Not bounded by the caller's context, which may have ended: see End.
	if err := q.room.Acquire(context.Background(), weight); err != nil {
		return err
	}
	return q.put(q.entry(r, weight, false))
}

// wait queues a request and waits until it is committed.
func (q *queue) wait(ctx context.Context, r *request) error {
	weight, err := q.weigh(r)
	if err != nil {
		return err
	}
	enter := ctx
	if r.kind == record {
		enter = context.Background() // see End
	}
	if err := q.room.Acquire(enter, weight); err != nil {
		return err
	}
	e := q.entry(r, weight, true)
	if err := q.put(e); err != nil {
		return err
	}
	select {
	case err := <-e.done:
		q.recycle(e)
		return err
	case <-ctx.Done():
	}
	if e.settle(left) { // the entry is the writer's alone from here
		if r.kind == record {
			return fmt.Errorf("%w: %w", store.ErrQueued, ctx.Err())
		}
		return ctx.Err()
	}
	err = <-e.done
	q.recycle(e)
	return err
}

// put takes e, and room for one that the caller has acquired.
func (q *queue) put(e *entry) error {
	waited := e.waited // once it is queued, e is the writer's too
	q.mu.Lock()
	if q.closing {
		q.mu.Unlock()
		q.room.Release(e.weight)
		q.recycle(e)
		return store.ErrClosed
	}
	q.entries = append(q.entries, e)
	n := len(q.entries)
	if waited {
		q.waited++
	} else if n == 1 {
		q.timer.Reset(q.linger)
	}
	q.mu.Unlock()
	if waited || n == q.batch {
		q.ring()
	}
	return nil
}

// ring wakes the writer.
func (q *queue) ring() {
	select {
	case q.wake <- struct{}{}:
	default: // it has not looked since the last time
	}
}

// take waits for a batch that is worth a transaction and moves it into buf,
// which is empty: somebody waits, or a batch is full, or its oldest row has lain
// for the linger, or the queue is closing. It returns none when the queue is
// closed and empty.
func (q *queue) take(buf []*entry) []*entry {
	for {
		q.mu.Lock()
		if n := len(q.entries); n > 0 && (q.waited > 0 || n >= q.batch || q.due || q.closing) {
			n = min(n, q.batch)
			buf = append(buf, q.entries[:n]...)
			rest := copy(q.entries, q.entries[n:])
			clear(q.entries[rest:])
			q.entries = q.entries[:rest]
			q.taken += n
			var weight int64
			for _, e := range buf {
				weight += e.weight
				if e.waited {
					q.waited--
				}
			}
			q.due = rest > 0 // they came while others lay here: do not make them wait twice
			q.mu.Unlock()
			q.room.Release(weight)
			return buf
		}
		closed := q.closing
		q.mu.Unlock()
		if closed {
			return buf
		}
		select {
		case <-q.wake:
		case <-q.timer.C:
			q.mu.Lock()
			q.due = len(q.entries) > 0
			q.mu.Unlock()
		}
	}
}

// answered is told by the writer of how many it has taken care.
func (q *queue) answered(n int) {
	q.mu.Lock()
	q.taken -= n
	q.mu.Unlock()
}

// close refuses further entries; what is queued is still taken.
func (q *queue) close() {
	q.mu.Lock()
	q.closing = true
	q.mu.Unlock()
	q.ring()
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closing
}

// len is how many have not been answered.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries) + q.taken
}

// weigh returns how much room a request takes, and store.ErrTooLarge for one
// that must not be kept in memory.
func (q *queue) weigh(req *request) (int64, error) {
	if req.kind == task {
		return min(1+int64(req.size)/1024, q.size), nil
	}
	r := &req.row
	n := len(r.Host) + len(r.Call) + len(r.Run) + len(r.Principal) + len(r.Op) + len(r.Tool) +
		len(r.Adapter) + len(r.Effects) + len(r.Outcome) + len(r.Gate) + len(r.Kind) + len(r.Code) +
		len(r.Detail) + len(r.Ran) + len(r.Cost) + len(r.Client) + len(r.Protocol) +
		len(r.Approval) + len(r.DecidedBy) + len(req.spend.approval) + len(req.spend.round) + len(req.once)
	for _, c := range req.spend.charges {
		n += len(c.What)
	}
	for _, c := range req.charged {
		n += len(c.What)
	}
	if n > store.MaxRow {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", store.ErrTooLarge, n, store.MaxRow)
	}
	return min(1+int64(n)/1024, q.size), nil
}
