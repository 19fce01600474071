// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
)

// Glance looks at the newest rows of a ledger, those with a Seq greater than
// after: that their links hold and lead to the signed heads, and that the heads
// are signed with one of the keys. It reads no more, so it proves less than
// Verify and takes no time. The error says what is wrong.
func Glance(ctx context.Context, src Source, keys *Verifier, after int64) error {
	heads, err := src.Heads(ctx) // before the rows, so that each head's row is among them or older
	if err != nil {
		return fmt.Errorf("signed heads: %w", err)
	}
	signed := map[string]Head{}
	for _, h := range heads {
		if err := keys.Checkpoint(&h); err != nil {
			return fmt.Errorf("the head of host %s at link %d: %w", show(h.Host), h.N, err)
		}
		signed[h.Host] = h.Head
	}
	last := map[string]Head{}
	for row, err := range src.Links(ctx, after) {
		if err != nil {
			return fmt.Errorf("rows: %w", err)
		}
		if row.Fault != "" {
			return fmt.Errorf("row %d: %s", row.Seq, row.Fault)
		}
		is := Head{Host: row.Host, N: row.N, Hash: row.Hash}
		prev, known := last[row.Host]
		if !known && row.N == 1 {
			prev, known = Head{Host: row.Host}, true // it begins the chain
		}
		if known && Link(prev, &row.Row) != is {
			return fmt.Errorf("row %d does not follow from the one before it of its host", row.Seq)
		}
		if h := signed[row.Host]; h.N == row.N && h.Hash != row.Hash {
			return fmt.Errorf("row %d is not what host %s has signed", row.Seq, show(row.Host))
		}
		last[row.Host] = is
	}
	for host, l := range last {
		if h := signed[host]; h.N > l.N {
			return fmt.Errorf("host %s has signed link %d, and its newest row is link %d: rows are missing", show(host), h.N, l.N)
		}
	}
	return nil
}
