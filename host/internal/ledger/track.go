// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// track is the chain of one host as far as it was followed.
type track struct {
	// head is the last link as the store has it, other what the last row
	// hashes to, where that differs.
	head  Head
	other tool.Digest
	// rows were read, the first and the newest with these Seqs; covered of them
	// are under a signature that was compared and agreed, open ones came after.
	rows, covered, open, first, seq int64
	// cut is the last link that retention has removed.
	cut int64
	// good is the last link that a signature agreed with.
	good int64
	// points are still to be compared from next on.
	points []point
	next   int
	gaps   []gap
	forked [byUser + 1]bool // one finding for each origin says enough
}

// gap is a range of numbers that are missing, of a Seq or of a chain; then
// between the rows with the Seqs after and before.
type gap struct {
	from, to, after, before int64
	said                    bool
}

// maxGaps bounds what is remembered to be matched later.
const maxGaps = MaxFindings

// row follows one row. Prev is the hash before it where the row itself brings
// it, as those of an export do.
func (v *verification) row(r *LinkedRow, prev tool.Digest) {
	v.report.Rows++
	if !v.place(r) {
		return
	}
	if r.N <= 0 || r.Hash.IsZero() {
		v.report.add(Finding{
			Fault: Foreign, Host: r.Host, Seq: r.Seq,
			Text: fmt.Sprintf("row %d is in no chain: no host has written it", r.Seq),
		})
		return
	}
	t := v.track(r.Host)
	if v.excerpt && (t.rows == 0 || r.N > t.head.N+1) && (r.N == 1 || !prev.IsZero()) {
		t.head = Head{Host: r.Host, N: r.N - 1, Hash: prev}
		t.other, t.open = tool.Digest{}, 0
	}
	t.rows++
	t.open++
	if t.first == 0 {
		t.first = r.Seq
	}
	switch next := t.head.N + 1; {
	case r.N < next:
		v.late(t, r)
		return
	case r.N > next:
		t.gaps = v.remember(t.gaps, gap{from: next, to: r.N - 1, after: t.seq, before: r.Seq})
		t.head, t.other = Head{Host: r.Host, N: r.N, Hash: r.Hash}, tool.Digest{}
		v.fault(r) // the hash cannot be made without the one before
	default:
		v.link(t, r)
	}
	t.seq = r.Seq
	v.meet(t)
}

// remember keeps a gap for the end, where it is reported; too many are counted.
func (v *verification) remember(gaps []gap, g gap) []gap {
	if len(gaps) >= maxGaps {
		v.report.More++
		return gaps
	}
	return append(gaps, g)
}

// place judges the Seq of a row.
func (v *verification) place(r *LinkedRow) bool {
	switch {
	case r.Seq <= 0:
		v.report.add(Finding{
			Fault: Foreign, Host: r.Host, Seq: r.Seq, N: r.N,
			Text: fmt.Sprintf("row %d: rows count from 1, no host has written it", r.Seq),
		})
		return false
	case v.report.First == 0 && v.excerpt: // it begins where it begins
	case r.Seq <= v.cut.Seq:
		v.report.add(Finding{Fault: Foreign, Host: r.Host, Seq: r.Seq, N: r.N, Text: fmt.Sprintf(
			"row %d is there, and the signed cut after seq %d says that it was removed", r.Seq, v.cut.Seq)})
		return false
	case r.Seq <= v.seq:
		v.report.add(Finding{
			Fault: Reordered, Host: r.Host, Seq: r.Seq, N: r.N,
			Text: fmt.Sprintf("row %d comes after row %d", r.Seq, v.seq),
		})
		return false
	case r.Seq > v.seq+1 && !v.excerpt:
		v.gaps = v.remember(v.gaps, gap{from: v.seq + 1, to: r.Seq - 1})
	}
	if v.report.First == 0 {
		v.report.First = r.Seq
	}
	v.seq = r.Seq
	return true
}

// late is a row whose number should have come earlier.
func (v *verification) late(t *track, r *LinkedRow) {
	f := Finding{Fault: Duplicate, Host: r.Host, Seq: r.Seq, N: r.N, Text: fmt.Sprintf(
		"row %d is another link %d of host %s: it was copied or inserted", r.Seq, r.N, show(r.Host))}
	for i, g := range t.gaps {
		if r.N < g.from || r.N > g.to {
			continue
		}
		f.Fault = Reordered
		f.Text = fmt.Sprintf("row %d is link %d of host %s and comes after row %d, which is a later one",
			r.Seq, r.N, show(r.Host), t.seq)
		parts := []gap{}
		if left := (gap{from: g.from, to: r.N - 1, after: g.after, before: g.before}); left.from <= left.to {
			parts = append(parts, left)
		}
		if right := (gap{from: r.N + 1, to: g.to, after: g.after, before: g.before}); right.from <= right.to {
			parts = append(parts, right)
		}
		t.gaps = slices.Replace(t.gaps, i, i+1, parts...)
		break
	}
	v.report.add(f)
	v.fault(r)
}

// link compares a row with its hash.
func (v *verification) link(t *track, r *LinkedRow) {
	got := Link(t.head, &r.Row)
	ok := got.Hash == r.Hash
	if !ok && !t.other.IsZero() {
		// The row before was found changed. If this one follows from what that
		// hashes to, only its hash was.
		before := t.head
		before.Hash = t.other
		ok = Link(before, &r.Row).Hash == r.Hash
	}
	t.other = tool.Digest{}
	if !ok {
		t.other = got.Hash
		text := fmt.Sprintf("row %d (host %s, link %d) is not what its hash says: it was changed",
			r.Seq, show(r.Host), r.N)
		if t.seq > 0 {
			text += fmt.Sprintf(", or row %d before it was, and its hash made anew", t.seq)
		}
		if r.Fault != "" {
			text += ": " + r.Fault
		}
		v.report.add(Finding{Fault: Changed, Host: r.Host, Seq: r.Seq, N: r.N, Text: text})
	} else {
		v.fault(r)
	}
	t.head = Head{Host: r.Host, N: r.N, Hash: r.Hash}
}

// fault reports what the row does not show.
func (v *verification) fault(r *LinkedRow) {
	if r.Fault != "" {
		v.report.add(Finding{Fault: Changed, Host: r.Host, Seq: r.Seq, N: r.N, Text: fmt.Sprintf(
			"row %d (host %s, link %d) was changed: %s", r.Seq, show(r.Host), r.N, r.Fault)})
	}
}

// meet compares what is said of the link that was just reached.
func (v *verification) meet(t *track) {
	for t.next < len(t.points) && t.points[t.next].n <= t.head.N {
		if p := &t.points[t.next]; p.n == t.head.N {
			v.compare(t, p)
		}
		t.next++
	}
}

func (v *verification) compare(t *track, p *point) {
	if p.hash == t.head.Hash || (p.hash == t.other && !t.other.IsZero()) {
		t.good = p.n
		if p.from != byUser {
			t.covered += t.open
			t.open = 0
		}
		return
	}
	if t.forked[p.from] {
		return
	}
	t.forked[p.from] = true
	f := Finding{Fault: p.fault(), Host: t.head.Host, N: t.good + 1, ToN: p.n, ToSeq: t.seq, Text: fmt.Sprintf(
		"host %s has another hash at link %d (seq %d) than %s: rows from link %d on were changed or replaced, and hashed anew",
		show(t.head.Host), p.n, t.seq, p, t.good+1)}
	if p.from == byUser {
		f.N, f.ToN = p.n, 0
		f.Text = fmt.Sprintf("host %s has another hash at link %d (seq %d) than expected: rows up to it were replaced",
			show(t.head.Host), p.n, t.seq)
	}
	v.report.add(f)
}

// newest is the statement, other than a user's, of the newest link.
func (t *track) newest() *point {
	var newest *point
	for i := range t.points {
		if p := &t.points[i]; p.from != byUser && (newest == nil || p.n > newest.n) {
			newest = p
		}
	}
	return newest
}

func (t *track) known() int64 {
	if p := t.newest(); p != nil {
		return p.n
	}
	return 0
}

// expectedOnly: nothing but a user's word says that this host was ever here.
func (t *track) expectedOnly() bool { return t.cut == 0 && t.newest() == nil }

// reportGaps names the rows that are missing, and whose they were where the
// numbers say so.
func (v *verification) reportGaps() {
	for _, t := range v.tracks {
		for i := range t.gaps {
			v.reportGap(t, &t.gaps[i])
		}
	}
	for _, g := range v.gaps {
		if !g.said {
			v.report.add(Finding{
				Fault: Removed, Seq: g.from, ToSeq: g.to,
				Text: fmt.Sprintf("%s removed", numbered("row", g.from, g.to)),
			})
		}
	}
}

// reportGap reports rows missing from a chain. If as many Seqs are missing
// between its neighbours, they are those rows.
func (v *verification) reportGap(t *track, g *gap) {
	f := Finding{Fault: Removed, Host: t.head.Host, N: g.from, ToN: g.to}
	links := fmt.Sprintf("%s of host %s", numbered("link", g.from, g.to), show(t.head.Host))
	var inside []*gap
	missing := int64(0)
	for i := range v.gaps {
		if s := &v.gaps[i]; s.from > g.after && s.to < g.before {
			inside = append(inside, s)
			missing += s.to - s.from + 1
		}
	}
	if missing != g.to-g.from+1 {
		f.Text = fmt.Sprintf("%s removed, between rows %d and %d", links, g.after, g.before)
		v.report.add(f)
		return
	}
	f.Seq, f.ToSeq = inside[0].from, inside[len(inside)-1].to
	f.Text = fmt.Sprintf("%s removed: %s", numbered("row", f.Seq, f.ToSeq), links)
	if len(inside) > 1 {
		f.Text = fmt.Sprintf("%d rows from seq %d to %d removed: %s", missing, f.Seq, f.ToSeq, links)
	}
	for _, s := range inside {
		s.said = true
	}
	v.report.add(f)
}

// numbered says "row 3" or "rows 3 to 5".
func numbered(noun string, from, to int64) string {
	if from == to {
		return fmt.Sprintf("%s %d", noun, from)
	}
	return fmt.Sprintf("%ss %d to %d", noun, from, to)
}
