// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"iter"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// LinkedRow is a row with its place in the chain of its host, as a store keeps
// it.
type LinkedRow struct {
	Row

	// N and Hash are those of Link: the store's columns chain_n and hash. A row
	// that has none, which no host writes, has zeros.
	N    int64
	Hash tool.Digest
	// Fault says what the store cannot have written itself, so that Row does
	// not show it: a number where a text belongs, a digest of 31 bytes. Empty:
	// nothing; Verify reports the row as changed otherwise.
	Fault string
}

// Cut is what remains of rows that retention has removed: all with a Seq of at
// most Cut.Seq. It carries each chain over the cut, so that what is left can
// still be verified, and the heads of the moment, which tie it to this store.
// A later cut replaces an earlier one and says all that the earlier said.
type Cut struct {
	// Seq of the newest row that was removed.
	Seq int64
	// Heads are the last removed links of all hosts that ever lost rows, sorted
	// by host.
	Heads []Head
	// Anchors are the heads of all hosts when the cut was made, sorted by host.
	Anchors []Head
	// By is the principal who removed them.
	By string
	// Time is the store's, in microseconds since 1970.
	Time int64
	// Key and Signature are as in Checkpoint.
	Key       string
	Signature []byte
}

// Source is a ledger that can be verified and exported. What a store owes it:
//
//   - the transaction that writes rows of a host writes the host's signed head
//     too, in place of the one before: no row is visible without a signature
//     over it;
//   - Seq is given in the order of commits, so whoever sees a row sees all rows
//     with a smaller one;
//   - a checkpoint, once written, is only removed by a cut.
type Source interface {
	// Links yields the rows with a Seq greater than after in the order of Seq,
	// up to the newest of the moment when it begins. It yields rows as they
	// are, the faulty ones too: with a negative after, also those to which
	// somebody gave a Seq below 1. An error ends it.
	Links(ctx context.Context, after int64) iter.Seq2[LinkedRow, error]
	// Heads returns the newest signed head of each host, those of hosts that
	// are gone too, in one snapshot.
	Heads(ctx context.Context) ([]Checkpoint, error)
	// Checkpoints yields the kept checkpoints of all hosts in any order: what a
	// host signs now and then (each 10,000 rows or so, and when it ends) and
	// leaves there. Verify holds about 100 bytes for each and for each of its
	// anchors that says something new, so hourly ones cost nothing.
	Checkpoints(ctx context.Context) iter.Seq2[Checkpoint, error]
	// Cuts returns the cuts that are kept; the newest is enough.
	Cuts(ctx context.Context) ([]Cut, error)
}

// Pruner removes rows.
type Pruner interface {
	Source

	// Prune, in one transaction, writes the cut in place of the one before,
	// and removes the rows with a Seq of at most cut.Seq and the checkpoints of
	// links before cut.Heads. Heads stay. It changes nothing and fails if the
	// store has a cut with a greater or equal Seq.
	Prune(ctx context.Context, cut Cut) error
}
