// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// UnsoundError is a ledger that is not in order. Nothing is removed from it:
// what was removed cannot be looked into.
type UnsoundError struct{ Report *Report }

// Error says how much was found.
func (e *UnsoundError) Error() string {
	return fmt.Sprintf("the ledger is not in order (%d findings), nothing was removed; see `toolwharf ledger verify`",
		int64(len(e.Report.Findings))+e.Report.More)
}

// Retention says what Prune removes.
type Retention struct {
	// Before: rows that ended before it, up to the first that did not.
	Before time.Time
	// By is the principal who removes them.
	By string
	// Signer signs the cut. Trust has to accept it.
	Signer *Signer
	Trust  Trust
	// Batch is how many rows one transaction removes at least, if there are so
	// many; default 5,000, some 100 ms.
	Batch int64
}

// Prune removes the oldest rows, up to the newest that a checkpoint or a signed
// head stands for, and leaves a signed cut in their place. It verifies the
// ledger before, and returns an *UnsoundError if something is wrong. It returns
// how many rows it has removed, also with an error.
func Prune(ctx context.Context, store Pruner, r Retention) (removed int64, err error) {
	report, err := Verify(ctx, store, r.Trust)
	if err != nil {
		return 0, err
	}
	if !report.OK() {
		return 0, &UnsoundError{report}
	}
	p, err := newPruning(ctx, store, r)
	if err != nil {
		return 0, err
	}
	for row, err := range store.Links(ctx, p.cut.Seq) {
		if err != nil {
			return p.removed, fmt.Errorf("rows: %w", err)
		}
		if !row.Ended.Before(r.Before) {
			break
		}
		if err := p.pass(ctx, &row); err != nil {
			return p.removed, err
		}
	}
	return p.removed, p.remove(ctx, 1)
}

// pruning is a Prune on its way: the cut grows from one signed link to the next.
type pruning struct {
	Retention

	store Pruner
	cut   Cut // to come
	// done is the Seq of the cut in the store.
	done, removed int64
	heads         map[string]Head // of cut
	since         map[string]Head // links after it
	signed        map[string]map[int64]bool
}

func newPruning(ctx context.Context, store Pruner, r Retention) (*pruning, error) {
	if r.Batch <= 0 {
		r.Batch = 5000
	}
	p := &pruning{
		Retention: r, store: store,
		heads: map[string]Head{}, since: map[string]Head{}, signed: map[string]map[int64]bool{},
	}
	cut, err := newestCut(ctx, store)
	if err != nil {
		return nil, err
	}
	for _, h := range cut.Heads {
		p.heads[h.Host] = h
	}
	p.cut = Cut{Seq: cut.Seq, By: r.By}
	p.done = cut.Seq
	for c, err := range store.Checkpoints(ctx) {
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", err)
		}
		p.sign(&c)
	}
	heads, err := store.Heads(ctx)
	if err != nil {
		return nil, fmt.Errorf("signed heads: %w", err)
	}
	for i := range heads {
		p.sign(&heads[i])
		p.cut.Anchors = append(p.cut.Anchors, heads[i].Head)
	}
	return p, nil
}

func (p *pruning) sign(c *Checkpoint) {
	if p.signed[c.Host] == nil {
		p.signed[c.Host] = map[int64]bool{}
	}
	p.signed[c.Host][c.N] = true
}

func (p *pruning) pass(ctx context.Context, row *LinkedRow) error {
	p.since[row.Host] = Head{Host: row.Host, N: row.N, Hash: row.Hash}
	if !p.signed[row.Host][row.N] {
		return nil
	}
	maps.Copy(p.heads, p.since)
	clear(p.since)
	p.cut.Seq = row.Seq
	return p.remove(ctx, p.Batch)
}

// remove makes the cut if it removes that many rows.
func (p *pruning) remove(ctx context.Context, least int64) error {
	rows := p.cut.Seq - p.done
	if rows < least {
		return nil
	}
	cut := p.cut
	cut.Time = time.Now().UnixMicro()
	cut.Heads = make([]Head, 0, len(p.heads))
	for _, h := range p.heads {
		cut.Heads = append(cut.Heads, h)
	}
	if err := p.store.Prune(ctx, p.Signer.SignCut(cut)); err != nil {
		return fmt.Errorf("removing rows up to seq %d: %w", cut.Seq, err)
	}
	p.removed += rows
	p.done = cut.Seq
	return nil
}
