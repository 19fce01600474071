// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package storetest is the suite that every store must pass: what the executor,
// the readers and the other processes that share a store can count on.
//
// A store's test calls Run, and Main from its TestMain, since some of it takes
// processes that can be killed.
package storetest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

// Store is what a store can do.
type Store interface {
	executor.Journal
	executor.Approvals
	ledger.Source
	limit.Counts

	// ID is chosen at random when the store is made, Host when it is opened.
	ID() string
	Host() string
	Reading
	Outbox
	Health() store.Health
	// Close writes what End has accepted.
	Close(ctx context.Context) error
}

// Reading is how the ledger and what is open are read.
type Reading interface {
	// Rows yields what is selected, the oldest first; Tail goes on with what
	// comes. Newest is the Seq of the newest row.
	Rows(ctx context.Context, q ledger.Query) iter.Seq2[ledger.Row, error]
	Tail(ctx context.Context, q ledger.Query) iter.Seq2[ledger.Row, error]
	Newest(ctx context.Context) (int64, error)
	// Intents yields the open ones.
	Intents(ctx context.Context) iter.Seq2[ledger.Row, error]
	// Approval and Approvals are for operators, who see everybody's.
	Approval(ctx context.Context, id string) (*approval.Record, error)
	Approvals(ctx context.Context, q approval.Query) iter.Seq2[*approval.Record, error]
}

// Outbox is what others are to be told. Every store of the suite tells "ann" of both
// events, and "bob" of decisions.
type Outbox interface {
	// Due takes over the longest waiting notice to a receiver for a time, nil if
	// none waits; Forget and Postpone end that.
	Due(ctx context.Context, receiver string, lease time.Duration) (*approval.Notice, error)
	Forget(ctx context.Context, id string) error
	Postpone(ctx context.Context, id string, after time.Duration) error
}

// Receivers are those of Outbox.
func Receivers() map[approval.Event][]string {
	return map[approval.Event][]string{approval.EventPending: {"ann"}, approval.EventDecided: {"ann", "bob"}}
}

// Opened is a place for a new store and what the suite does to it.
type Opened struct {
	// Location is what Open, and the function given to Main, open the store by,
	// and Fresh a location where no store is yet.
	Location, Fresh string
	// Open opens a store, as another process would. It makes one if there is
	// none.
	Open Opener
	// Block holds up all writing, as another process's transaction would, until
	// release. It is held for less than the time that writers wait for others.
	Block func() (release func() error, err error)
	// Spoil makes the store refuse rows of this tool from now on.
	Spoil func(tool string) error
}

// Run runs the suite. Open is called once a test; the suite opens and closes the
// store.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	t.Helper()
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"writing", writing},
		{"intents", intents},
		{"queueing", queueing},
		{"reading", reading},
		{"following", following},
		{"closing", closing},
		{"sharing", sharing},
		{"telling", telling},
		{"asking", asking},
		{"deciding", deciding},
		{"spending", spending},
		{"counting", counting},
		{"awaiting", awaiting},
		{"recovering", recovering},
		{"stopping", stopping},
		{"crashing", crashing},
		{"chaining", chaining},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					o := open(t)
					trial := trial{T: t, Opened: o}
					trial.Store = trial.open(o.Location, Opening{})
					test.run(trial)
				})
			}
		})
	}
}

// test is one property of a store.
type test struct {
	name string
	run  func(trial)
}

// trial is a test of one store.
type trial struct {
	*testing.T
	Opened

	Store Store
}

// again opens the store once more.
func (t trial) again() Store {
	t.Helper()
	return t.open(t.Location, Opening{})
}

func (t trial) open(location string, o Opening) Store {
	t.Helper()
	s, err := t.Open(location, o.whole())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { finish(t, s) })
	return s
}

// block holds up the writing until the test releases it or ends.
func (t trial) block() (release func()) {
	t.Helper()
	unblock, err := t.Block()
	must(t, err)
	released := false
	release = func() {
		if !released {
			released = true
			if err := unblock(); err != nil {
				t.Errorf("releasing: %v", err)
			}
		}
	}
	t.Cleanup(release)
	return release
}

// finish closes a store, which a test may have done before.
func finish(tb testing.TB, s Store) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		tb.Errorf("closing: %v", err)
	}
}
