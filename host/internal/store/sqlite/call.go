// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

// spend is what the begin of a call spends.
type spend struct {
	approval string
	round    string
	until    int64 // how long to remember the round; 0: for ever
	charges  []limit.Charge
	// intent: one is written.
	intent bool
}

// beginCall writes an intent, and spends what it spends; all of it or nothing.
func (w *writer) beginCall(e *entry) error {
	if e.spend.intent {
		if err := w.holdLease(); err != nil {
			return err
		}
		e.row.Host = w.host
	}
	if e.spend.approval == "" && e.spend.round == "" && len(e.spend.charges) == 0 {
		return w.insertIntent(&e.row)
	}
	if err := w.spendable(e); err != nil {
		return err
	}
	return w.tentatively(func() error { return w.spendAll(e) })
}

// spendable looks whether everything is still to be spent.
func (w *writer) spendable(e *entry) error {
	if id := e.spend.approval; id != "" {
		r, err := w.approval(id)
		switch {
		case err != nil:
			return err
		case r.Principal != e.row.Principal || r.Call != e.row.Call || r.Tool != e.row.Tool:
			return approval.ErrNone
		case r.Status != approval.Approved:
			return statusError(r)
		}
	}
	if e.spend.round == "" {
		return nil
	}
	spent, err := w.exists("SELECT 1 FROM rounds WHERE round = ?", func(b *binder) { b.text(e.spend.round) })
	if err == nil && spent {
		return executor.ErrRoundSpent
	}
	return err
}

func (w *writer) spendAll(e *entry) error {
	if e.spend.intent {
		if err := w.insertIntent(&e.row); err != nil {
			return err
		}
		w.at("intent written")
	}
	for _, c := range e.spend.charges {
		if err := w.charge(e.row.Run, c); err != nil {
			return err
		}
		w.at("charged")
	}
	if e.spend.round != "" {
		err := w.exec("INSERT INTO rounds (round, until) VALUES (?, nullif(?, 0))", func(b *binder) {
			b.text(e.spend.round)
			b.number(e.spend.until)
		})
		if err != nil {
			return err
		}
		w.at("round spent")
	}
	if id := e.spend.approval; id != "" {
		n, err := w.change("UPDATE approvals SET status = 'used' WHERE id = ? AND status = 'approved'",
			func(b *binder) { b.text(id) })
		switch {
		case err != nil:
			return err
		case n != 1:
			return errors.New("approval was not spent") // spendable has seen it
		}
		w.at("approval spent")
	}
	return nil
}

func (w *writer) insertIntent(r *ledger.Row) error {
	if err := bindIntent(w.addIntent, r); err != nil {
		return err
	}
	err := w.addIntent.Exec()
	if errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY) {
		return store.ErrBegun
	}
	w.tx.begun = w.tx.begun || err == nil
	return err
}

// endCall writes a row and settles its intent. The first error is the row's
// own, which is not there then; the second one spoils the transaction.
func (w *writer) endCall(e *entry) (own, fatal error) {
	if e.once != "" {
		known, err := w.exists("SELECT 1 FROM spooled WHERE id = ?", func(b *binder) { b.text(e.once) })
		if err != nil || known {
			return err, nil
		}
	}
	if w.tx.lost {
		late, err := w.exists("SELECT 1 FROM lost WHERE call = ? AND started = ?", identity(&e.row))
		if err != nil {
			return err, nil
		}
		e.row.Late = e.row.Late || late
	}
	if err := w.appendRow(&e.row); err != nil {
		return err, nil // a failed statement has changed nothing
	}
	w.at("row written")
	if err := w.settleCall(e); err != nil {
		return nil, err
	}
	return nil, nil
}

// charge takes from what a run may use, or returns a *limit.SpentError.
func (w *writer) charge(run string, c limit.Charge) error {
	var used int64
	err := w.query("SELECT used FROM counts WHERE run = ? AND what = ?",
		func(b *binder) {
			b.text(run)
			b.text(c.What)
		},
		func(s *scanner) { used = s.number() })
	switch {
	case err != nil:
		return err
	case !c.Fits(used):
		return &limit.SpentError{Charge: c, Used: used}
	case c.Add == 0:
		return nil
	}
	return w.exec("INSERT OR REPLACE INTO counts (run, what, used, at) VALUES (?, ?, ?, ?)", func(b *binder) {
		b.text(run)
		b.text(c.What)
		b.number(c.Sum(used))
		b.number(w.tx.now)
	})
}

// settleCall removes what a row has settled, and charges what it settles.
func (w *writer) settleCall(e *entry) error {
	if w.tx.begun {
		b := binder{stmt: w.endIntent}
		identity(&e.row)(&b)
		if b.err != nil {
			return b.err
		}
		if err := w.endIntent.Exec(); err != nil {
			return err
		}
		w.at("intent removed")
	}
	if e.row.Late {
		if err := w.exec("DELETE FROM lost WHERE call = ? AND started = ?", identity(&e.row)); err != nil {
			return err
		}
	}
	for _, c := range e.charged {
		c.Max = 0
		if err := w.charge(e.row.Run, c); err != nil {
			return err
		}
		w.at("settled")
	}
	if e.once == "" {
		return nil
	}
	return w.exec("INSERT INTO spooled (id, at) VALUES (?, ?)", func(b *binder) {
		b.text(e.once)
		b.number(w.tx.now)
	})
}

// identity binds what tells the intents of one call apart: a call that is asked
// for again while it runs is refused, and that row must not settle the intent.
func identity(r *ledger.Row) func(*binder) {
	return func(b *binder) {
		b.text(r.Call)
		b.time(r.Started)
	}
}
