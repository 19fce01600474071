// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"iter"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Run is one agent run as the ledger shows it.
type Run struct {
	// Run is its id.
	Run string `json:"run"`
	// Principal made its calls.
	Principal string `json:"principal"`
	// First is when its first call arrived, Last when its newest row ended.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Calls are its rows that are no decisions, by outcome; a call that waited
	// for an approval has several rows.
	Calls map[Outcome]int64 `json:"calls"`
	// Decisions were made about its calls.
	Decisions int64 `json:"decisions"`
	// Cost is the exact sum of what its calls cost, empty if none said so.
	Cost string `json:"cost,omitempty"`

	sum *big.Rat
}

// Rows is a ledger that can be read.
type Rows interface {
	Rows(ctx context.Context, q Query) iter.Seq2[Row, error]
}

// Runs returns the runs of the rows that q selects, the newest first; at most
// limit if that is positive. It reads all these rows and holds about 500 bytes
// for each run.
func Runs(ctx context.Context, ledger Rows, q Query, limit int) ([]Run, error) {
	runs := map[string]*Run{}
	for row, err := range ledger.Rows(ctx, q) {
		if err != nil {
			return nil, err
		}
		if row.Run == "" {
			continue
		}
		r := runs[row.Run]
		if r == nil {
			r = &Run{Run: row.Run, Calls: map[Outcome]int64{}}
			runs[row.Run] = r
		}
		r.add(&row)
	}
	list := make([]Run, 0, len(runs))
	for _, r := range runs {
		r.Cost = decimal(r.sum)
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Run) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Run, b.Run)) })
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, nil
}

func (r *Run) add(row *Row) {
	if r.First.IsZero() || (!row.Started.IsZero() && row.Started.Before(r.First)) {
		r.First = row.Started
	}
	if row.Ended.After(r.Last) {
		r.Last = row.Ended
	}
	switch row.Op {
	case OpDecision:
		r.Decisions++
		return
	case OpSubscription: // no call
		return
	default:
	}
	r.Calls[row.Outcome]++
	r.Principal = row.Principal
	if cost := parseDecimal(row.Cost); cost != nil {
		if r.sum == nil {
			r.sum = new(big.Rat)
		}
		r.sum.Add(r.sum, cost)
	}
}

// parseDecimal returns nil for what is no decimal within the bounds of
// tool.ParseJSON: an exponent makes a number of any size of a few characters.
func parseDecimal(s string) *big.Rat {
	if s == "" || len(s) > tool.MaxNumber || strings.ContainsAny(s, "pPxXoObB_/") {
		return nil
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > tool.MaxExponent || e < -tool.MaxExponent {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}

// decimal returns a sum of decimals, exactly.
func decimal(r *big.Rat) string {
	if r == nil {
		return ""
	}
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}
