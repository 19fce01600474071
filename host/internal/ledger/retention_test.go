// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

func (b *book) retention(before time.Time) ledger.Retention {
	return ledger.Retention{
		Before: before, By: "operator/ann", Signer: b.signer,
		Trust: ledger.Trust{Keys: ledger.NewVerifier(b.signer.Public())},
	}
}

func TestRetentionKeepsTheChainVerifiable(t *testing.T) {
	b := sample(t)
	// Rows up to 9 are older; the newest of them that is signed for is 8.
	n, err := ledger.Prune(t.Context(), b, b.retention(b.at(10).Ended))
	if err != nil || n != 8 {
		t.Fatal(n, err)
	}
	r := b.verify(t)
	if !r.OK() || r.Rows != 4 || r.First != 9 || r.CutSeq != 8 || r.CutBy != "operator/ann" || r.Signed != 4 {
		t.Errorf("%+v", r)
	}
	if r := b.verifyExport(t, exportLines(t, b, ledger.Query{})); !r.OK() || r.Rows != 4 || r.CutSeq != 8 {
		t.Errorf("export: %+v", r)
	}
	if n, err := ledger.Prune(t.Context(), b, b.retention(b.at(10).Ended)); err != nil || n != 0 {
		t.Error("again:", n, err)
	}
	for name, tc := range map[string]struct {
		do   func(b *book)
		want []string
	}{
		"a row removed behind the cut": {func(b *book) { b.drop(9) }, []string{"removed host_B n=3 seq=9"}},
		"a row changed behind the cut": {func(b *book) { b.at(10).Run = "run_X" }, []string{"changed host_A n=5 seq=10"}},
		"the cut moved": {
			func(b *book) {
				b.cuts[0].Seq = 9
				b.drop(9)
			},
			[]string{
				"removed host_B n=1-3", "removed host_A n=1-4", "removed seq=1-9", "bad_signature seq=0-9", "truncated host_C n=1-2",
			},
		},
		"no cut": {
			func(b *book) { b.cuts = nil },
			[]string{"removed seq=1-8", "removed host_A n=1-4", "removed host_B n=1-2", "truncated host_C n=1-2"},
		},
		"a removed row put back": {
			func(b *book) { b.rows = slices.Insert(b.rows, 0, sample(t).rows[7]) },
			[]string{"foreign host_A n=4 seq=8"},
		},
		"the head of a host that has no rows any more removed": {
			func(b *book) { delete(b.heads, "host_C") },
			[]string{"truncated host_C n=0-2"},
		},
		"the cut of another store": {
			func(b *book) {
				other := newBook()
				for range 9 {
					other.write("host_Z")
				}
				if _, err := ledger.Prune(t.Context(), other, other.retention(other.clock)); err != nil {
					t.Fatal(err)
				}
				b.cuts = other.cuts
			},
			[]string{"foreign host_B n=3 seq=9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := b.clone()
			tc.do(c)
			got := briefs(c.verify(t))
			slices.Sort(got)
			slices.Sort(tc.want)
			if name == "the cut of another store" {
				if len(got) == 0 {
					t.Error("nothing found")
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestNothingIsRemovedFromALedgerThatIsNotInOrder(t *testing.T) {
	b := sample(t)
	b.at(2).Tool = "x"
	n, err := ledger.Prune(t.Context(), b, b.retention(b.clock.Add(time.Hour)))
	var unsound *ledger.UnsoundError
	if n != 0 || !errors.As(err, &unsound) || len(b.rows) != 12 {
		t.Errorf("%d, %v, %d rows", n, err, len(b.rows))
	}
}

func TestRetentionAndWritingTakeTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBook()
		noted := map[string]ledger.Head{}
		for range rapid.IntRange(1, 12).Draw(t, "turns") {
			for range rapid.IntRange(0, 12).Draw(t, "rows") {
				host := fmt.Sprintf("host_%d", rapid.IntRange(0, 4).Draw(t, "host"))
				b.write(host)
				if rapid.IntRange(0, 3).Draw(t, "checkpoint") == 0 {
					b.checkpoint(host)
				}
			}
			back := time.Duration(rapid.IntRange(0, 20).Draw(t, "back")) * time.Second
			r := b.retention(b.clock.Add(-back))
			r.Batch = int64(rapid.IntRange(1, 5).Draw(t, "batch"))
			if _, err := ledger.Prune(t.Context(), b, r); err != nil {
				t.Fatal(err)
			}
			expect := []ledger.Head{}
			for _, h := range noted {
				expect = append(expect, h)
			}
			report := b.verify(t, expect...)
			if !report.OK() {
				t.Fatalf("%q", briefs(report))
			}
			for _, row := range b.rows {
				if row.Seq <= report.CutSeq {
					t.Fatalf("row %d is left, the cut is after %d", row.Seq, report.CutSeq)
				}
			}
			for _, h := range report.Heads {
				noted[h.Host] = h
			}
		}
	})
}
