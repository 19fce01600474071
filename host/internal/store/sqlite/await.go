// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/approval"
)

// lookAgain is how long Await relies on the clock of this process where the
// store's decides.
const lookAgain = 5 * time.Second

// Await returns nil once the approval is not pending any more: decided in this
// process at once, in another within pollLast, expired by the store's clock. It
// returns approval.ErrNone, the error of ctx, or store.ErrClosed.
func (r *Reader) Await(ctx context.Context, id string) error {
	for {
		// In this order: what changes after the look is heard of.
		changed := r.waiters.join(id)
		left, err := r.pendingFor(ctx, id)
		if err != nil || left <= 0 {
			r.waiters.leave(id)
			return err
		}
		timer := time.NewTimer(min(left, lookAgain))
		select {
		case <-changed:
		case <-timer.C:
		case <-r.done: // pendingFor says so
		case <-ctx.Done():
		}
		timer.Stop()
		r.waiters.leave(id)
	}
}

// pendingFor returns how long an approval will be pending, unless it is decided;
// 0 if it is not.
func (r *Reader) pendingFor(ctx context.Context, id string) (left time.Duration, err error) {
	found := false
	err = r.use(ctx, func(conn *sqlite3.Conn) error {
		if err := r.waiters.poll(r, conn); err != nil {
			return err
		}
		return each(conn, "SELECT iif(status = 'pending', expires - "+clock+", 0) FROM approvals WHERE id = ?",
			func(b *binder) { b.text(id) },
			func(s *scanner) {
				found = true
				left = time.Duration(s.number()) * time.Microsecond
			})
	})
	if err == nil && !found {
		err = approval.ErrNone
	}
	return left, err
}

// waiters are those who wait for approvals. While there are any, one goroutine
// looks whether another process has written.
type waiters struct {
	mu      sync.Mutex
	of      map[string]*waiting
	polling bool
}

// waiting are those who wait for one approval.
type waiting struct {
	n       int
	changed chan struct{} // closed at the next change, then replaced
}

// join returns a channel that is closed when the approval may have changed.
func (v *waiters) join(id string) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[string]*waiting{}
	}
	w := v.of[id]
	if w == nil {
		w = &waiting{changed: make(chan struct{})}
		v.of[id] = w
	}
	w.n++
	return w.changed
}

func (v *waiters) leave(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w := v.of[id]; w != nil {
		if w.n--; w.n == 0 {
			delete(v.of, id)
		}
	}
}

// wake tells those who wait for these approvals.
func (v *waiters) wake(ids ...string) {
	if len(ids) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range ids {
		v.of[id].wake()
	}
}

func (v *waiters) wakeAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, w := range v.of {
		w.wake()
	}
}

func (w *waiting) wake() {
	if w != nil {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// poll begins to look for what other processes write, unless that is done.
func (v *waiters) poll(r *Reader, conn *sqlite3.Conn) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.polling {
		return nil
	}
	seen, err := readNumber(conn, dataVersion)
	if err != nil {
		return err
	}
	v.polling = true
	go v.follow(r, seen)
	return nil
}

// follow wakes everybody when the store has changed, until nobody waits.
func (v *waiters) follow(r *Reader, seen int64) {
	pause := pollFirst
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.done: // use says so
			timer.Stop()
		}
		v.mu.Lock()
		if len(v.of) == 0 {
			v.polling = false
			v.mu.Unlock()
			return
		}
		v.mu.Unlock()
		var version int64
		err := r.use(context.Background(), func(conn *sqlite3.Conn) (err error) {
			version, err = readNumber(conn, dataVersion)
			return err
		})
		if err != nil {
			v.mu.Lock()
			v.polling = false
			v.mu.Unlock()
			v.wakeAll() // they meet the same error
			return
		}
		if version != seen {
			v.wakeAll()
		}
		seen = version
		pause = min(2*pause, pollLast)
	}
}
