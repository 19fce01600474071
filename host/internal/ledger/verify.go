// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ErrPruned says that retention removed rows while they were read. Try again.
var ErrPruned = errors.New("rows were removed by retention in the meantime; try again")

// Trust is what a verification relies on.
type Trust struct {
	// Keys judge the signatures.
	Keys *Verifier
	// Expect are heads that somebody has noted: each must still be a link of
	// its chain. Nothing else tells when a whole store was put back to an older
	// state, its signatures with it.
	Expect []Head
}

// Verify reads the whole ledger once and says what is wrong with it. Memory
// grows with the number of hosts and checkpoints, not of rows. A host may go on
// writing meanwhile. An error means that it could not be read to the end.
func Verify(ctx context.Context, src Source, t Trust) (*Report, error) {
	v := newVerification(t)
	_, v.offline = src.(*exported)
	for c, err := range src.Checkpoints(ctx) {
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", err)
		}
		v.report.Checkpoints++
		v.checkpoint(&c, byCheckpoint)
	}
	cut, err := v.readCut(ctx, src)
	if err != nil {
		return nil, err
	}
	if err := v.readHeads(ctx, src); err != nil {
		return nil, err
	}
	v.begin()
	if err := v.follow(src.Links(ctx, math.MinInt64)); err != nil {
		return nil, err
	}
	if v.ahead() { // a host is writing, or somebody else was
		if err := v.readHeads(ctx, src); err != nil {
			return nil, err
		}
		v.catchUp()
		if err := v.follow(src.Links(ctx, v.seq)); err != nil {
			return nil, err
		}
	}
	v.end()
	if !v.report.OK() {
		switch now, err := newestCut(ctx, src); {
		case err != nil:
			return nil, err
		case now.Seq != cut.Seq:
			return nil, ErrPruned
		}
	}
	return v.report, nil
}

// verification is a Verify on its way.
type verification struct {
	trust   Trust
	report  *Report
	points  points
	heads   map[string]Checkpoint // valid ones
	judged  map[string]int64      // links of heads, valid or not
	keys    map[string]string     // by host
	unknown map[[2]string]bool    // hosts and keys that were reported
	cut     Cut
	tracks  map[string]*track
	seq     int64 // of the newest row
	gaps    []gap // in seq
	// until says where each chain has to be followed to, no further; nil:
	// to the end.
	until map[string]int64
	// excerpt: what is read may have rows left out.
	excerpt bool
	// offline: it is an export.
	offline bool
}

func newVerification(t Trust) *verification {
	if t.Keys == nil {
		t.Keys = &Verifier{}
	}
	v := &verification{
		trust: t, report: &Report{Keys: []string{}, Findings: []Finding{}}, points: points{}, heads: map[string]Checkpoint{}, judged: map[string]int64{},
		keys: map[string]string{}, unknown: map[[2]string]bool{}, tracks: map[string]*track{},
	}
	for _, h := range t.Expect {
		v.points.add(h.Host, point{n: h.N, hash: h.Hash, who: h.Host, from: byUser})
	}
	return v
}

// checkpoint judges a signature and remembers what it says.
func (v *verification) checkpoint(c *Checkpoint, from origin) (valid bool) {
	what := "a checkpoint"
	if from == byHead {
		what = "the signed head"
	}
	if !v.accept(v.trust.Keys.Checkpoint(c), Finding{Host: c.Host, N: c.N}, what, c.Key) {
		return false
	}
	if key, ok := v.keys[c.Host]; ok && key != c.Key {
		v.report.add(Finding{Fault: ForeignKey, Host: c.Host, N: c.N, Text: fmt.Sprintf(
			"%s of host %s at link %d is signed with key %s, others of this host with %s",
			what, show(c.Host), c.N, c.Key, key)})
		return false
	}
	v.keys[c.Host] = c.Key
	v.points.checkpoint(c, from)
	return true
}

// accept reports whether a signature is valid, and a finding if not.
func (v *verification) accept(err error, f Finding, what, key string) bool {
	of := ""
	if f.Host != "" {
		of = fmt.Sprintf(" of host %s at link %d", show(f.Host), f.N)
	}
	switch {
	case err == nil:
		if !slices.Contains(v.report.Keys, key) {
			v.report.Keys = append(v.report.Keys, key)
		}
		return true
	case errors.Is(err, ErrUnknownKey):
		if v.unknown[[2]string{f.Host, key}] {
			return false // once is enough
		}
		v.unknown[[2]string{f.Host, key}] = true
		f.Fault = UnknownKey
		f.Text = fmt.Sprintf("%s%s is signed with key %s, which is not among those given", what, of, show(key))
	default:
		f.Fault = BadSignature
		f.Text = fmt.Sprintf("%s%s does not match its signature: it was changed", what, of)
	}
	v.report.add(f)
	return false
}

func newestCut(ctx context.Context, src Source) (newest Cut, err error) {
	cuts, err := src.Cuts(ctx)
	if err != nil {
		return Cut{}, fmt.Errorf("cuts: %w", err)
	}
	for _, c := range cuts {
		if c.Seq > newest.Seq {
			newest = c
		}
	}
	return newest, nil
}

func (v *verification) readCut(ctx context.Context, src Source) (Cut, error) {
	cut, err := newestCut(ctx, src)
	if err != nil || cut.Seq == 0 {
		return cut, err
	}
	what := fmt.Sprintf("the cut after seq %d", cut.Seq)
	if !v.accept(v.trust.Keys.Cut(&cut), Finding{ToSeq: cut.Seq}, what, cut.Key) {
		return cut, nil // what it would excuse is found as removed
	}
	v.cut = cut
	v.report.CutSeq, v.report.CutTime, v.report.CutBy = cut.Seq, cut.Time, cut.By
	v.points.heads(cut.Anchors, point{time: cut.Time, from: byCut})
	return cut, nil
}

// readHeads reads the signed heads. A second time, only what is newer counts.
func (v *verification) readHeads(ctx context.Context, src Source) error {
	heads, err := src.Heads(ctx)
	if err != nil {
		return fmt.Errorf("signed heads: %w", err)
	}
	for _, c := range heads {
		if old, ok := v.judged[c.Host]; ok && old >= c.N {
			continue
		}
		v.judged[c.Host] = c.N
		if v.checkpoint(&c, byHead) {
			v.heads[c.Host] = c
		}
	}
	return nil
}

// begin sets out from the cut.
func (v *verification) begin() {
	v.points.sort()
	v.seq = v.cut.Seq
	for _, h := range v.cut.Heads {
		v.tracks[h.Host] = &track{head: h, cut: h.N, good: h.N}
	}
	for host := range v.points {
		t := v.track(host)
		t.points = v.points[host]
		v.skip(t)
	}
	v.points = points{} // for heads that are read later
}

// skip leaves behind what is said of rows that retention has removed.
func (v *verification) skip(t *track) {
	for t.next < len(t.points) && t.points[t.next].n <= t.cut {
		p := &t.points[t.next]
		if p.n == t.cut {
			v.compare(t, p)
		} else if p.from == byUser {
			v.report.Notes = append(v.report.Notes, fmt.Sprintf(
				"the expected head %s:%d cannot be checked: retention has removed its row", show(t.head.Host), p.n))
		}
		t.next++
	}
}

func (v *verification) track(host string) *track {
	t := v.tracks[host]
	if t == nil {
		t = &track{head: Head{Host: host}}
		v.tracks[host] = t
	}
	return t
}

func (v *verification) follow(rows iter.Seq2[LinkedRow, error]) error {
	for row, err := range rows {
		if err != nil {
			return fmt.Errorf("rows: %w", err)
		}
		if v.until != nil && row.N > v.until[row.Host] {
			v.place(&row) // it was written after the heads were read
			continue
		}
		v.row(&row, tool.Digest{})
	}
	return nil
}

// ahead reports whether rows were read that are newer than their signed head.
func (v *verification) ahead() bool {
	for host, t := range v.tracks {
		if t.head.N > v.heads[host].N {
			return true
		}
	}
	return false
}

// catchUp prepares to read on, up to the heads that were read just now.
func (v *verification) catchUp() {
	v.until = map[string]int64{}
	v.points.sort()
	for _, host := range slices.Sorted(maps.Keys(v.points)) {
		t := v.track(host)
		for i := range v.points[host] {
			switch p := v.points[host][i]; {
			case p.n > t.head.N:
				t.points = append(t.points[t.next:], p)
				t.next = 0
			case p.n == t.head.N:
				v.compare(t, &p)
			}
		}
		slices.SortStableFunc(t.points[t.next:], func(a, b point) int { return int(a.n - b.n) })
	}
	for host, c := range v.heads {
		v.until[host] = c.N
	}
}

// end judges what can only be judged when all rows were seen.
func (v *verification) end() {
	for _, host := range slices.Sorted(maps.Keys(v.tracks)) {
		v.endTrack(host, v.tracks[host])
	}
	v.reportGaps()
	slices.Sort(v.report.Keys)
	v.report.Hosts = len(v.tracks)
	v.report.Last = v.seq
	if v.report.First == 0 {
		v.report.Last = 0
	}
	v.report.sort()
}

func (v *verification) endTrack(host string, t *track) {
	head, signed := v.heads[host]
	v.report.Signed += t.covered
	if t.head.N > 0 {
		v.report.Heads = append(v.report.Heads, t.head)
	}
	v.endPoints(host, t)
	switch rows := t.rows > 0; {
	case v.excerpt && rows && t.covered < t.rows:
		v.report.Notes = append(v.report.Notes, fmt.Sprintf(
			"%d of %d rows of host %s are under no signature", t.rows-t.covered, t.rows, show(host)))
	case v.excerpt:
	case !signed && rows:
		v.report.add(Finding{
			Fault: Foreign, Host: host, Seq: t.first, ToSeq: t.seq, N: t.head.N - t.rows + 1, ToN: t.head.N,
			Text: fmt.Sprintf("host %s has %d rows (seq %d to %d) and no valid signed head",
				show(host), t.rows, t.first, t.seq),
		})
	case v.offline && t.known() <= t.cut: // in an export, heads come with rows
	case !signed && !t.expectedOnly():
		v.report.add(Finding{
			Fault: Truncated, Host: host, ToN: max(t.head.N, t.known()),
			Text: fmt.Sprintf("host %s is known to others, and its signed head is missing", show(host)),
		})
	case signed && head.N < t.head.N && t.rows > 0:
		v.report.add(Finding{
			Fault: Unsigned, Host: host, Seq: 0, ToSeq: t.seq, N: head.N + 1, ToN: t.head.N,
			Text: fmt.Sprintf("host %s has rows up to link %d (seq %d), its signed head is link %d of %s",
				show(host), t.head.N, t.seq, head.N, time.UnixMicro(head.Time).UTC().Format(timeFormat)),
		})
	}
	if signed && !v.excerpt && head.N < t.known() {
		p := t.newest()
		v.report.add(Finding{Fault: RolledBack, Host: host, N: head.N, ToN: p.n, Text: fmt.Sprintf(
			"the signed head of host %s is link %d, and %s knows link %d: an older head was put back",
			show(host), head.N, p, p.n)})
	}
}

// endPoints reports what is said of links that are not there.
func (v *verification) endPoints(host string, t *track) {
	var truncated bool
	for i := len(t.points) - 1; i >= t.next; i-- { // the newest says most
		p := &t.points[i]
		if p.n <= t.head.N || (truncated && p.from != byUser) {
			continue
		}
		if v.excerpt {
			if p.from == byUser {
				v.report.Notes = append(v.report.Notes, fmt.Sprintf(
					"the expected head %s:%d is not in this excerpt", show(host), p.n))
			}
			continue
		}
		f := Finding{Fault: Truncated, Host: host, N: t.head.N + 1, ToN: p.n, Text: fmt.Sprintf(
			"host %s ends with link %d (seq %d), and %s knows link %d: the newest rows were removed",
			show(host), t.head.N, t.seq, p, p.n)}
		if p.from == byUser {
			f.Fault = RolledBack
			f.Text = fmt.Sprintf("host %s ends with link %d (seq %d), and link %d was expected: the ledger was put back",
				show(host), t.head.N, t.seq, p.n)
		} else {
			truncated = true
		}
		v.report.add(f)
	}
}
