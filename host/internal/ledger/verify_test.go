// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// brief is a finding in the short form in which the tests expect it.
func brief(f ledger.Finding) string {
	s := string(f.Fault)
	if f.Host != "" {
		s += " " + f.Host
	}
	if f.N != 0 || f.ToN != 0 {
		s += fmt.Sprintf(" n=%d", f.N)
		if f.ToN != 0 && f.ToN != f.N {
			s += fmt.Sprintf("-%d", f.ToN)
		}
	}
	if f.Seq != 0 || f.ToSeq != 0 {
		s += fmt.Sprintf(" seq=%d", f.Seq)
		if f.ToSeq != 0 && f.ToSeq != f.Seq {
			s += fmt.Sprintf("-%d", f.ToSeq)
		}
	}
	return s
}

func briefs(r *ledger.Report) []string {
	all := []string{}
	for _, f := range r.Findings {
		all = append(all, brief(f))
	}
	return all
}

func (b *book) at(seq int64) *ledger.LinkedRow {
	i := slices.IndexFunc(b.rows, func(r ledger.LinkedRow) bool { return r.Seq == seq })
	return &b.rows[i]
}

func (b *book) drop(seqs ...int64) {
	b.rows = slices.DeleteFunc(b.rows, func(r ledger.LinkedRow) bool { return slices.Contains(seqs, r.Seq) })
}

// rehash makes the hashes of a host anew, from link n on, as somebody without
// the key can.
func (b *book) rehash(host string, n int64) {
	prev := ledger.Head{Host: host}
	for i := range b.rows {
		r := &b.rows[i]
		if r.Host != host {
			continue
		}
		head := ledger.Link(prev, &r.Row)
		if head.N >= n {
			r.N, r.Hash = head.N, head.Hash
		}
		prev = ledger.Head{Host: host, N: r.N, Hash: r.Hash}
	}
}

// The sample, by seq: A1 B1 C1 A2 A3 B2 C2 A4 B3 A5 B4 A6; checkpoints of A2, A4
// and A6.
func TestMischiefIsFoundAndNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(b *book)
		want []string
	}{
		"a column changed": {
			func(b *book) { b.at(6).Tool = "shop_refund" },
			[]string{"changed host_B n=2 seq=6"},
		},
		"a hash changed": {
			func(b *book) { b.at(6).Hash = digest("x") },
			[]string{"changed host_B n=2 seq=6"},
		},
		"a row changed, its hash made anew": {
			func(b *book) {
				b.at(6).Tool = "shop_refund"
				b.at(6).Hash = ledger.Link(ledger.Head{N: 1, Hash: b.at(2).Hash}, &b.at(6).Row).Hash
			},
			[]string{"changed host_B n=3 seq=9", "anchor host_B n=2 seq=0-6"},
		},
		"a row changed, all later hashes made anew": {
			func(b *book) {
				b.at(6).Tool = "shop_refund"
				b.rehash("host_B", 2)
			},
			[]string{"anchor host_B n=2 seq=0-6", "rewritten host_B n=2-4 seq=0-11"},
		},
		"what the store cannot show changed": {
			func(b *book) { b.at(6).Fault = "spec has 33 bytes" },
			[]string{"changed host_B n=2 seq=6"},
		},
		"a row removed":           {func(b *book) { b.drop(6) }, []string{"removed host_B n=2 seq=6"}},
		"two rows of one removed": {func(b *book) { b.drop(4, 5) }, []string{"removed host_A n=2-3 seq=4-5"}},
		"rows of two removed": {
			func(b *book) { b.drop(5, 6) },
			[]string{"removed seq=5-6", "removed host_A n=3", "removed host_B n=2"},
		},
		"the first row removed": {func(b *book) { b.drop(1) }, []string{"removed host_A n=1 seq=1"}},
		"a row removed, the rest renumbered": {
			func(b *book) {
				b.drop(6)
				for i := range b.rows {
					if b.rows[i].Seq > 6 {
						b.rows[i].Seq--
					}
				}
			},
			[]string{
				"changed host_C n=2 seq=6", "changed host_A n=4 seq=7", "changed host_A n=5 seq=9",
				"changed host_B n=4 seq=10", "changed host_A n=6 seq=11", "removed host_B n=2",
			},
		},
		"two rows swapped": {
			func(b *book) {
				b.at(4).Seq, b.at(5).Seq = 5, 4
				b.rows[3], b.rows[4] = b.rows[4], b.rows[3]
			},
			[]string{"reordered host_A n=2 seq=5"},
		},
		"what two rows say swapped": {
			func(b *book) {
				x, y := b.at(4), b.at(5)
				x.Row, y.Row = y.Row, x.Row
				x.Seq, y.Seq = 4, 5
			},
			[]string{"changed host_A n=2 seq=4", "changed host_A n=3 seq=5"},
		},
		"the newest rows removed": {
			func(b *book) { b.drop(11, 12) },
			[]string{"truncated host_A n=6", "truncated host_B n=4"},
		},
		"the newest rows removed, older heads put back": {
			func(b *book) {
				old := newBook()
				old.signer = b.signer
				for _, host := range []string{"A", "B", "C", "A", "A", "B", "C", "A", "B", "A"} {
					old.write("host_" + host)
				}
				b.drop(11, 12)
				b.heads = old.heads
			},
			[]string{"rolled_back host_A n=5-6", "truncated host_A n=6", "rolled_back host_B n=3-4", "truncated host_B n=4"},
		},
		"an older head put back": {
			func(b *book) { b.heads["host_A"] = b.checkpoints[1] },
			[]string{"rolled_back host_A n=4-6", "unsigned host_A n=5-6 seq=0-12"},
		},
		"all rows of a host removed": {
			func(b *book) { b.drop(3, 7) },
			[]string{"removed seq=3", "removed seq=7", "truncated host_C n=1-2"},
		},
		"all rows of a host and its head removed": {
			func(b *book) {
				b.drop(3, 7)
				delete(b.heads, "host_C")
			},
			[]string{"removed seq=3", "removed seq=7", "truncated host_C n=0-2", "truncated host_C n=1-2"},
		},
		"a row copied": {
			func(b *book) {
				r := *b.at(6)
				r.Seq = 13
				b.rows = append(b.rows, r)
			},
			[]string{"duplicate host_B n=2 seq=13"},
		},
		"a row added behind, well linked": {
			func(b *book) {
				r := *b.at(12)
				r.Seq = 13
				h := ledger.Link(ledger.Head{N: r.N, Hash: r.Hash}, &r.Row)
				r.N, r.Hash = h.N, h.Hash
				b.rows = append(b.rows, r)
			},
			[]string{"unsigned host_A n=7 seq=0-13"},
		},
		"a row of a host that nobody knows": {
			func(b *book) {
				r := *b.at(12)
				r.Seq, r.Host = 13, "host_X"
				h := ledger.Link(ledger.Head{}, &r.Row)
				r.N, r.Hash = h.N, h.Hash
				b.rows = append(b.rows, r)
			},
			[]string{"foreign host_X n=1 seq=13"},
		},
		"a row in no chain": {
			func(b *book) { b.rows = append(b.rows, ledger.LinkedRow{Row: ledger.Row{Seq: 13, Host: "host_A"}}) },
			[]string{"foreign host_A seq=13"},
		},
		"a row before the first": {
			func(b *book) {
				r := *b.at(1)
				r.Seq = 0
				b.rows = slices.Insert(b.rows, 0, r)
			},
			[]string{"foreign host_A n=1"},
		},
		"a host's name changed in one row": {
			func(b *book) { b.at(6).Host = "host_A" },
			[]string{"duplicate host_A n=2 seq=6", "removed host_B n=2"},
		},
		"two hosts swapped": {
			func(b *book) {
				for i := range b.rows {
					switch r := &b.rows[i]; r.Host {
					case "host_B":
						r.Host = "host_C"
					case "host_C":
						r.Host = "host_B"
					}
				}
			},
			[]string{
				"changed host_C n=1 seq=2", "changed host_B n=1 seq=3", "changed host_C n=2 seq=6", "changed host_B n=2 seq=7",
				"changed host_C n=3 seq=9", "changed host_C n=4 seq=11",
				"anchor host_B n=1 seq=0-3", "truncated host_B n=3-4",
				"anchor host_C n=1 seq=0-2", "rewritten host_C n=1-2 seq=0-6", "unsigned host_C n=3-4 seq=0-11",
			},
		},
		"a signed head changed": {
			func(b *book) {
				h := b.heads["host_A"]
				h.Hash = digest("x")
				b.heads["host_A"] = h
			},
			[]string{"foreign host_A n=1-6 seq=1-12", "bad_signature host_A n=6"},
		},
		"a head of another key": {
			func(b *book) { b.heads["host_B"] = signer(2).Sign(b.heads["host_B"].Head, nil, b.clock) },
			[]string{"foreign host_B n=1-4 seq=2-11", "unknown_key host_B n=4"},
		},
		"an anchor changed": {
			func(b *book) {
				c := b.checkpoints[0]
				c.Anchors = slices.Clone(c.Anchors)
				c.Anchors[0].Hash = digest("x")
				b.checkpoints[0] = c
			},
			[]string{"bad_signature host_A n=2"},
		},
		"an anchor that its signer made up": {
			func(b *book) {
				b.checkpoints[0] = b.signer.Sign(b.checkpoints[0].Head,
					[]ledger.Head{{Host: "host_B", N: 1, Hash: digest("x")}}, b.clock)
			},
			[]string{"anchor host_B n=1 seq=0-2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := sample(t)
			tc.do(b)
			r := b.verify(t)
			if diff := cmp.Diff(tc.want, briefs(r)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			for _, f := range r.Findings {
				t.Log(f.Text)
			}
		})
	}
}

func TestOneHostHasOneKey(t *testing.T) {
	b := sample(t)
	b.checkpoints = append(b.checkpoints, signer(2).Sign(b.heads["host_B"].Head, nil, b.clock))
	r, err := ledger.Verify(t.Context(), b,
		ledger.Trust{Keys: ledger.NewVerifier(b.signer.Public(), signer(2).Public())})
	if err != nil {
		t.Fatal(err)
	}
	if got := briefs(r); !slices.Contains(got, "foreign_key host_B n=4") {
		t.Errorf("got %q", got)
	}
}

func TestAnExpectedHeadTellsOfARollBack(t *testing.T) {
	b := sample(t)
	noted := b.verify(t).Heads
	for i, h := range noted {
		if got, err := ledger.ParseHead(h.String()); err != nil || got != h {
			t.Errorf("%v is read as %v, %v", noted[i], got, err)
		}
	}
	if r := b.verify(t, noted...); !r.OK() {
		t.Errorf("untouched: %q", briefs(r))
	}
	b.write("host_A")
	b.checkpoint("host_A")
	if r := b.verify(t, noted...); !r.OK() {
		t.Errorf("gone on: %q", briefs(r))
	}
	old := newBook() // the whole store, as it once was
	for _, host := range []string{"A", "B", "C", "A"} {
		old.write("host_" + host)
	}
	if r := old.verify(t); !r.OK() {
		t.Fatalf("the older store: %q", briefs(r))
	}
	want := []string{"rolled_back host_A n=3-6", "rolled_back host_B n=2-4", "rolled_back host_C n=2"}
	if diff := cmp.Diff(want, briefs(old.verify(t, noted...))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	other := ledger.Head{Host: "host_A", N: 2, Hash: digest("x")}
	if diff := cmp.Diff([]string{"rolled_back host_A n=2 seq=0-4"}, briefs(b.verify(t, other))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	gone := ledger.Head{Host: "host_Z", N: 2, Hash: digest("x")}
	if diff := cmp.Diff([]string{"rolled_back host_Z n=1-2"}, briefs(b.verify(t, gone))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestHeadsThatAreNoHeads(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for _, s := range []string{
		"", "host_A", "host_A:1", ":1:" + hash, "host_A:0:" + hash, "host_A:-1:" + hash,
		"host_A:x:" + hash, "host_A:1:" + hash[1:], "host_A:1:" + hash + "00", "host_A:1:sha256:" + hash[2:] + "zz",
	} {
		if h, err := ledger.ParseHead(s); err == nil {
			t.Errorf("%q is %v", s, h)
		}
	}
	if _, err := ledger.ParseHead("host_A:1:sha256:" + hash); err != nil {
		t.Error(err)
	}
}

func TestAHostThatWritesMeanwhileIsNoFault(t *testing.T) {
	for _, at := range []string{"checkpoints", "cuts", "heads", "links"} {
		t.Run("before "+at, func(t *testing.T) {
			b := sample(t)
			b.during = func(read string) {
				if read == at {
					b.write("host_A")
					b.checkpoint("host_A")
					b.write("host_D")
					b.write("host_B")
				}
			}
			r := b.verify(t)
			if !r.OK() {
				t.Errorf("%q", briefs(r))
			}
		})
	}
}

func TestMischiefIsFoundWhileAHostWrites(t *testing.T) {
	b := sample(t)
	b.at(12).Cost = "0"
	b.during = func(read string) {
		if read == "heads" || read == "links" {
			b.write("host_A")
		}
	}
	if diff := cmp.Diff([]string{"changed host_A n=6 seq=12"}, briefs(b.verify(t))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAnEmptyLedgerIsInOrder(t *testing.T) {
	r := newBook().verify(t)
	if !r.OK() || r.Rows != 0 || r.First != 0 || r.Last != 0 {
		t.Errorf("%+v", r)
	}
}

func TestWithoutKeysNothingIsProven(t *testing.T) {
	b := sample(t)
	r, err := ledger.Verify(context.Background(), b, ledger.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || r.Signed != 0 || r.Rows != 12 {
		t.Errorf("%+v", r)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	b := newBook()
	for range ledger.MaxFindings + 10 {
		b.write("host_A")
	}
	for i := range b.rows {
		b.rows[i].Tool = "x"
	}
	r := b.verify(t)
	if len(r.Findings) != ledger.MaxFindings || r.More != 10 {
		t.Errorf("%d findings and %d more", len(r.Findings), r.More)
	}
	b = newBook()
	for range 3 * ledger.MaxFindings {
		b.write("host_A")
	}
	b.rows = slices.DeleteFunc(b.rows, func(r ledger.LinkedRow) bool { return r.Seq%2 == 1 })
	r = b.verify(t)
	if len(r.Findings) != ledger.MaxFindings || r.More < ledger.MaxFindings/2 {
		t.Errorf("%d findings and %d more", len(r.Findings), r.More)
	}
}

func BenchmarkVerify(b *testing.B) {
	book := newBook()
	for range 10_000 {
		book.write("host_A")
	}
	b.ReportAllocs()
	for b.Loop() {
		book.verify(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/row")
}
