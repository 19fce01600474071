// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// Each column of each row, each byte: by reflection, so that none is forgotten.
func TestAnyBitOfAnyColumnOfAnyRowIsFound(t *testing.T) {
	whole := newBook()
	for _, host := range []string{"A", "B", "A", "B"} {
		whole.write("host_" + host)
	}
	fields := reflect.VisibleFields(reflect.TypeFor[ledger.Row]())
	for i := range whole.rows {
		for _, field := range fields {
			original := reflect.ValueOf(whole.rows[i].Row).FieldByIndex(field.Index)
			for _, other := range others(original) {
				b := whole.clone()
				reflect.ValueOf(&b.rows[i].Row).Elem().FieldByIndex(field.Index).Set(other)
				r := b.verify(t)
				if r.OK() {
					t.Fatalf("row %d: %s = %v in place of %v is not found", i+1, field.Name, other, original)
				}
				named := slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool {
					seq := b.rows[i].Seq
					return f.Seq == seq || f.ToSeq == seq || f.Seq == whole.rows[i].Seq
				})
				if !named {
					t.Errorf("row %d, %s = %v: not named in %q", i+1, field.Name, other, briefs(r))
				}
			}
		}
	}
}

func TestWhateverIsDoneWithoutTheKeyIsFound(t *testing.T) {
	whole := sample(t)
	rapid.Check(t, func(t *rapid.T) {
		b := whole.clone()
		for range rapid.IntRange(1, 4).Draw(t, "deeds") {
			mischief(t, b)
		}
		same := reflect.DeepEqual(b.rows, whole.rows) && reflect.DeepEqual(b.heads, whole.heads) &&
			reflect.DeepEqual(b.checkpoints, whole.checkpoints)
		lessSaid := reflect.DeepEqual(b.rows, whole.rows) && reflect.DeepEqual(b.heads, whole.heads) &&
			len(b.checkpoints) < len(whole.checkpoints) // nothing that they vouch for was touched
		if r := b.verify(t); r.OK() && !same && !lessSaid {
			t.Fatal("not found")
		}
	})
}

func mischief(t *rapid.T, b *book) {
	pick := func(what string) int { return rapid.IntRange(0, max(len(b.rows)-1, 0)).Draw(t, what) }
	if len(b.rows) == 0 {
		return
	}
	host := rapid.SampledFrom([]string{"host_A", "host_B", "host_C", "host_X"}).Draw(t, "host")
	switch rapid.SampledFrom([]string{
		"column", "remove", "copy", "swap", "truncate", "insert", "rename", "old head", "no head", "no checkpoint", "rehash", "renumber",
	}).Draw(t, "deed") {
	case "column":
		row := &b.rows[pick("row")]
		v := reflect.ValueOf(&row.Row).Elem().Field(rapid.IntRange(1, reflect.TypeFor[ledger.Row]().NumField()-1).Draw(t, "column"))
		v.Set(rapid.SampledFrom(others(v)).Draw(t, "value"))
	case "remove":
		i := pick("row")
		b.rows = slices.Delete(b.rows, i, i+1)
	case "copy":
		r := b.rows[pick("row")]
		r.Seq = b.last() + 1
		b.rows = append(b.rows, r)
	case "swap":
		i, j := pick("row"), pick("other")
		b.rows[i].Seq, b.rows[j].Seq = b.rows[j].Seq, b.rows[i].Seq
		b.rows[i], b.rows[j] = b.rows[j], b.rows[i]
	case "truncate":
		b.rows = b.rows[:pick("row")]
	case "insert":
		r := ledger.LinkedRow{Row: fullRow()}
		r.Seq, r.Host = b.last()+1, host
		prev := ledger.Head{Host: host}
		for _, x := range b.rows {
			if x.Host == host {
				prev = ledger.Head{Host: host, N: x.N, Hash: x.Hash}
			}
		}
		h := ledger.Link(prev, &r.Row)
		r.N, r.Hash = h.N, h.Hash
		b.rows = append(b.rows, r)
	case "rename":
		b.rows[pick("row")].Host = host
	case "old head":
		if len(b.checkpoints) > 0 {
			c := b.checkpoints[rapid.IntRange(0, len(b.checkpoints)-1).Draw(t, "checkpoint")]
			b.heads[c.Host] = c
		}
	case "no head":
		delete(b.heads, host)
	case "no checkpoint":
		if len(b.checkpoints) > 0 {
			b.checkpoints = b.checkpoints[1:]
		}
	case "rehash":
		b.rehash(host, 1)
	case "renumber":
		for i := range b.rows {
			b.rows[i].Seq = int64(i + 1)
		}
	}
}
