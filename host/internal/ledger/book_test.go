// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// book is a ledger in memory that does what Source asks of a store.
type book struct {
	signer      *ledger.Signer
	rows        []ledger.LinkedRow
	heads       map[string]ledger.Checkpoint
	checkpoints []ledger.Checkpoint
	cuts        []ledger.Cut
	clock       time.Time
	// during is called between the reads of a verification.
	during func(read string)
}

func signer(seed byte) *ledger.Signer {
	return ledger.NewSigner(ed25519.NewKeyFromSeed(slices.Repeat([]byte{seed}, ed25519.SeedSize)))
}

func newBook() *book {
	return &book{
		signer: signer(1), heads: map[string]ledger.Checkpoint{},
		clock: time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC),
	}
}

func (b *book) last() int64 {
	if n := len(b.rows); n > 0 {
		return b.rows[n-1].Seq
	}
	if n := len(b.cuts); n > 0 {
		return b.cuts[n-1].Seq
	}
	return 0
}

// write adds a row of a host, and its signed head.
func (b *book) write(host string) {
	b.clock = b.clock.Add(time.Second)
	row := fullRow()
	row.Seq, row.Host = b.last()+1, host
	row.Started, row.Ended = b.clock.Add(-time.Millisecond), b.clock
	row.Call = fmt.Sprintf("call_%d", row.Seq)
	head := ledger.Link(ledger.Head{Host: host, N: b.heads[host].N, Hash: b.heads[host].Hash}, &row)
	b.rows = append(b.rows, ledger.LinkedRow{Row: row, N: head.N, Hash: head.Hash})
	b.heads[host] = b.signer.Sign(head, b.all(), b.clock)
}

// checkpoint keeps the signed head of a host.
func (b *book) checkpoint(host string) {
	b.checkpoints = append(b.checkpoints, b.signer.Sign(b.heads[host].Head, b.all(), b.clock))
}

func (b *book) all() []ledger.Head {
	var heads []ledger.Head
	for _, c := range b.heads {
		heads = append(heads, c.Head)
	}
	return heads
}

func (b *book) tell(read string) {
	if b.during != nil {
		b.during(read)
	}
}

func (b *book) Links(_ context.Context, after int64) iter.Seq2[ledger.LinkedRow, error] {
	return func(yield func(ledger.LinkedRow, error) bool) {
		b.tell("links")
		for _, r := range slices.Clone(b.rows) {
			if r.Seq > after && !yield(r, nil) {
				return
			}
		}
	}
}

func (b *book) Heads(context.Context) ([]ledger.Checkpoint, error) {
	b.tell("heads")
	return slices.SortedFunc(maps.Values(b.heads), func(a, c ledger.Checkpoint) int { return cmp.Compare(a.Host, c.Host) }), nil
}

func (b *book) Checkpoints(context.Context) iter.Seq2[ledger.Checkpoint, error] {
	return func(yield func(ledger.Checkpoint, error) bool) {
		b.tell("checkpoints")
		for _, c := range slices.Clone(b.checkpoints) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (b *book) Cuts(context.Context) ([]ledger.Cut, error) {
	b.tell("cuts")
	return slices.Clone(b.cuts), nil
}

func (b *book) Prune(_ context.Context, cut ledger.Cut) error {
	if n := len(b.cuts); n > 0 && b.cuts[n-1].Seq >= cut.Seq {
		return errors.New("there is a later cut")
	}
	b.cuts = []ledger.Cut{cut}
	b.rows = slices.DeleteFunc(b.rows, func(r ledger.LinkedRow) bool { return r.Seq <= cut.Seq })
	b.checkpoints = slices.DeleteFunc(b.checkpoints, func(c ledger.Checkpoint) bool {
		return slices.ContainsFunc(cut.Heads, func(h ledger.Head) bool { return h.Host == c.Host && c.N < h.N })
	})
	return nil
}

// clone is a copy to do mischief to.
func (b *book) clone() *book {
	c := *b
	c.rows, c.checkpoints, c.cuts = slices.Clone(b.rows), slices.Clone(b.checkpoints), slices.Clone(b.cuts)
	c.heads = maps.Clone(b.heads)
	return &c
}

// verify returns the report, with the book's key.
func (b *book) verify(t interface {
	Helper()
	Fatal(...any)
}, expect ...ledger.Head,
) *ledger.Report {
	t.Helper()
	report, err := ledger.Verify(context.Background(), b,
		ledger.Trust{Keys: ledger.NewVerifier(b.signer.Public()), Expect: expect})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// sample has 12 rows of hosts A, B and C in turns, C has ended, and checkpoints.
func sample(t *testing.T) *book {
	b := newBook()
	for i, host := range []string{"A", "B", "C", "A", "A", "B", "C", "A", "B", "A", "B", "A"} {
		b.write("host_" + host)
		if i%4 == 3 {
			b.checkpoint("host_" + host)
		}
	}
	if r := b.verify(t); !r.OK() {
		t.Fatalf("the sample itself: %+v", r.Findings)
	}
	return b
}

func digest(s string) tool.Digest { return tool.DigestOf([]byte(s)) }
