// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is what is wrong with a ledger, in a word.
type Fault string

// The faults.
const (
	// Changed: a row is not what its hash says.
	Changed Fault = "changed"
	// Rewritten: rows and their hashes were changed together; a signature tells.
	Rewritten Fault = "rewritten"
	// Removed: rows are missing between others.
	Removed Fault = "removed"
	// Truncated: the newest rows of a host are missing.
	Truncated Fault = "truncated"
	// Reordered: a row is not in its place.
	Reordered Fault = "reordered"
	// Duplicate: there is another row with this number.
	Duplicate Fault = "duplicate"
	// Foreign: no host has signed for it, or it is in no chain.
	Foreign Fault = "foreign"
	// Unsigned: rows are newer than the signed head of their host.
	Unsigned Fault = "unsigned"
	// RolledBack: a signed head is older than one that is known.
	RolledBack Fault = "rolled_back"
	// Anchor: another host has seen a chain that is not this one.
	Anchor Fault = "anchor"
	// BadSignature: what is signed was changed.
	BadSignature Fault = "bad_signature"
	// UnknownKey: signed with a key that is not among those given.
	UnknownKey Fault = "unknown_key"
	// ForeignKey: one host has signed with two keys, though an instance has one.
	ForeignKey Fault = "foreign_key"
)

// Finding is one fault and where it is.
type Finding struct {
	Fault Fault `json:"fault"`
	// Host whose chain it concerns; empty if that cannot be known.
	Host string `json:"host,omitempty"`
	// Seq of the first and, if there are several, the last row concerned, 0 if
	// that cannot be known.
	Seq   int64 `json:"seq,omitempty"`
	ToSeq int64 `json:"to_seq,omitempty"`
	// N is the same in the chain of the host.
	N   int64 `json:"chain_n,omitempty"`
	ToN int64 `json:"to_chain_n,omitempty"`
	// Text says all of it, for people.
	Text string `json:"text"`
}

// MaxFindings bounds Report.Findings; the rest is counted.
const MaxFindings = 1000

// Report is what Verify has found.
type Report struct {
	// Rows were read, from Seq First to Seq Last.
	Rows  int64 `json:"rows"`
	First int64 `json:"first_seq"`
	Last  int64 `json:"last_seq"`
	// Signed is how many of them a valid signature covers.
	Signed int64 `json:"signed_rows"`
	// Hosts have rows or signed heads; Checkpoints were read, and all their
	// signatures judged.
	Hosts       int   `json:"hosts"`
	Checkpoints int64 `json:"checkpoints"`
	// Keys are the ids of the keys with which something was signed.
	Keys []string `json:"keys"`
	// CutSeq, CutTime and CutBy say which rows retention has removed, when (in
	// microseconds since 1970) and by whom; 0: none.
	CutSeq  int64  `json:"cut_seq,omitempty"`
	CutTime int64  `json:"cut_time,omitempty"`
	CutBy   string `json:"cut_by,omitempty"`
	// Excerpt: an export was read that may have rows left out.
	Excerpt bool `json:"excerpt,omitempty"`
	// Heads are where the chains end now: what --expect-head takes.
	Heads []Head `json:"heads,omitempty"`
	// Notes are no faults, and limit what the report proves.
	Notes []string `json:"notes,omitempty"`
	// Findings in the order of Seq, More of which were left out.
	Findings []Finding `json:"findings"`
	More     int64     `json:"more_findings,omitempty"`
}

// OK reports whether nothing was found.
func (r *Report) OK() bool { return len(r.Findings) == 0 }

// Summary says what was read, in a line for each thing.
func (r *Report) Summary() string {
	s := fmt.Sprintf("rows: %d", r.Rows)
	if r.Rows > 0 {
		s += fmt.Sprintf(", from seq %d to %d; %d under a signature", r.First, r.Last, r.Signed)
	}
	s += fmt.Sprintf("\nhosts: %d, checkpoints: %d, signed with: %s", r.Hosts, r.Checkpoints, strings.Join(r.Keys, ", "))
	if len(r.Keys) == 0 {
		s += "nothing"
	}
	if r.CutSeq > 0 {
		s += fmt.Sprintf("\nretention: rows up to seq %d were removed at %s by %s",
			r.CutSeq, time.UnixMicro(r.CutTime).UTC().Format(timeFormat), show(r.CutBy))
	}
	return s
}

func (r *Report) add(f Finding) {
	if len(r.Findings) >= MaxFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, f)
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(last(a.Seq), last(b.Seq)), cmp.Compare(a.Host, b.Host), cmp.Compare(a.N, b.N))
	})
}

// last sorts what has no Seq behind what has one.
func last(seq int64) uint64 { return uint64(seq - 1) } //nolint:gosec // 0 becomes the greatest
