// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

var _ ledger.Pruner = (*Store)(nil)

// Prune removes the rows up to a signed cut, and the checkpoints that stand for
// removed links only, and keeps the cut in their place. It returns an error, and
// nothing has changed, if the store has a cut of as many rows already.
func (s *Store) Prune(ctx context.Context, cut ledger.Cut) error {
	heads, err := headsJSON(cut.Heads)
	if err != nil {
		return fmt.Errorf("prune up to %d: %w", cut.Seq, err)
	}
	anchors, err := headsJSON(cut.Anchors)
	if err != nil {
		return fmt.Errorf("prune up to %d: %w", cut.Seq, err)
	}
	err = s.do(ctx, len(heads)+len(anchors), func(w *writer) error { return w.prune(&cut, heads, anchors) })
	if err != nil {
		return fmt.Errorf("prune up to %d: %w", cut.Seq, err)
	}
	return nil
}

func (w *writer) prune(cut *ledger.Cut, heads, anchors []byte) error {
	var newest int64
	err := w.query("SELECT coalesce(max(seq), 0) FROM cuts", nil, func(s *scanner) { newest = s.number() })
	if err != nil {
		return err
	}
	if newest >= cut.Seq {
		return fmt.Errorf("rows up to %d are gone already", newest)
	}
	if err := w.exec("DELETE FROM ledger WHERE seq <= ?", func(b *binder) { b.number(cut.Seq) }); err != nil {
		return err
	}
	for _, h := range cut.Heads {
		err := w.exec("DELETE FROM checkpoints WHERE host = ? AND n < ?", func(b *binder) {
			b.text(h.Host)
			b.number(h.N)
		})
		if err != nil {
			return err
		}
	}
	if err := w.exec("DELETE FROM cuts", nil); err != nil {
		return err
	}
	return w.exec("INSERT INTO cuts (seq, heads, anchors, by, time, key, signature) VALUES (?, ?, ?, ?, ?, ?, ?)",
		func(b *binder) {
			b.number(cut.Seq)
			b.blob(heads)
			b.blob(anchors)
			b.text(cut.By)
			b.number(cut.Time)
			b.some(cut.Key)
			b.blob(cut.Signature)
		})
}
