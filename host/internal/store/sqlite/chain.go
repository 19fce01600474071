// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// Anchors of a checkpoint: the newest heads of others, and what has come since
// the last one. Heads stay for ever, also those of a command line that was run
// once; each was among the newest when the next host began.
const (
	anchorsFirst = 100
	anchorsMost  = 1000
)

// chain is that of this host instance.
type chain struct {
	signer *ledger.Signer // nil: nothing is signed
	every  int64          // rows between checkpoints

	head   ledger.Head
	marked int64 // N of the newest checkpoint
	seen   int64 // newest seq of all when it was made
	stale  bool  // head is to be read again: a commit has failed
}

// committed takes over what a transaction has done.
func (c *chain) committed(tx *transaction) {
	c.head, c.stale = tx.head, false
	if tx.marked {
		c.marked, c.seen = tx.head.N, tx.newest
	}
}

// reload reads the head of this host.
func (w *writer) reload() error {
	w.tx.head = ledger.Head{}
	return w.query("SELECT host, n, hash FROM heads WHERE host = ?",
		func(b *binder) { b.text(w.host) },
		func(s *scanner) { w.tx.head = s.head() })
}

// appendRow writes a row as the next one of the store and of this host's chain.
func (w *writer) appendRow(r *ledger.Row) error {
	r.Host, r.Seq = w.host, w.tx.newest+1
	next := ledger.Link(w.tx.head, r)
	err := bindRow(w.addRow, r, &next)
	if err == nil {
		err = w.addRow.Exec()
	}
	if err != nil {
		r.Seq = 0
		return err
	}
	w.tx.newest++
	w.tx.rows++
	w.tx.head = next
	return nil
}

// sign writes the head of what the transaction has added, signed once for all of
// it, and a checkpoint when it is time for one.
func (w *writer) sign() error {
	if w.tx.rows == 0 {
		return nil
	}
	signed := w.signature(nil)
	err := w.exec(`INSERT INTO heads (host, n, hash, time, key, signature, seq) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (host) DO UPDATE SET n = excluded.n, hash = excluded.hash, time = excluded.time,
			key = excluded.key, signature = excluded.signature, seq = excluded.seq`,
		func(b *binder) {
			b.signed(&signed)
			b.number(w.tx.newest)
		})
	if err != nil || w.tx.marked {
		return err
	}
	// The first rows come with one: it anchors what the others have had before.
	if w.chain.marked > 0 && w.tx.head.N-w.chain.marked < w.chain.every {
		return nil
	}
	return w.mark()
}

// signMigrated signs the heads that a migration has made.
func (w *writer) signMigrated() error {
	if w.chain.signer == nil {
		return nil
	}
	var heads []ledger.Head
	err := w.query("SELECT host, n, hash FROM heads WHERE key = ?", func(b *binder) { b.text(keyMigrated) },
		func(s *scanner) { heads = append(heads, s.head()) })
	if err != nil {
		return err
	}
	for _, h := range heads {
		signed := w.chain.signer.Sign(h, nil, time.UnixMicro(w.tx.now))
		err := w.exec("UPDATE heads SET n = ?2, hash = ?3, time = ?4, key = ?5, signature = ?6 WHERE host = ?1",
			func(b *binder) { b.signed(&signed) })
		if err != nil {
			return err
		}
	}
	return nil
}

// mark writes a checkpoint.
func (w *writer) mark() error {
	limit := int64(anchorsMost)
	if w.chain.seen == 0 {
		limit = anchorsFirst
	}
	var anchors []ledger.Head
	err := w.query("SELECT host, n, hash FROM heads WHERE seq > ? AND host <> ? ORDER BY seq DESC LIMIT ?",
		func(b *binder) {
			b.number(w.chain.seen)
			b.text(w.host)
			b.number(limit)
		},
		func(s *scanner) { anchors = append(anchors, s.head()) })
	if err != nil {
		return err
	}
	signed := w.signature(anchors)
	blob, err := headsJSON(signed.Anchors)
	if err != nil {
		return err
	}
	w.tx.marked = true
	return w.exec(`INSERT INTO checkpoints (host, n, hash, time, key, signature, anchors) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		func(b *binder) {
			b.signed(&signed)
			b.blob(blob)
		})
}

// markNews writes a checkpoint if this host has written since the last one.
func (w *writer) markNews() error {
	if w.tx.head.N == w.chain.marked {
		return nil
	}
	return w.mark()
}

// signature signs the head of this host at the time of the transaction.
func (w *writer) signature(anchors []ledger.Head) ledger.Checkpoint {
	head := w.tx.head
	head.Host = w.host
	if w.chain.signer == nil {
		return ledger.Checkpoint{Head: head, Anchors: anchors, Time: w.tx.now}
	}
	return w.chain.signer.Sign(head, anchors, time.UnixMicro(w.tx.now))
}

func (b *binder) signed(c *ledger.Checkpoint) {
	b.text(c.Host)
	b.number(c.N)
	b.digest(&c.Hash)
	b.number(c.Time)
	b.some(c.Key)
	b.blob(c.Signature)
}

func (s *scanner) head() (h ledger.Head) {
	h.Host, h.N, h.Hash = s.text(), s.number(), s.digest()
	return h
}
