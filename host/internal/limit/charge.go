// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"context"
	"fmt"
	"math"
)

// What is counted of a run, beside the calls of single tools, by public name. No tool
// has a name with a slash.
const (
	// Calls counts all its calls that have left the host.
	Calls = "run/calls"
	// Cost is the sum of what they cost, as an Amount.
	Cost = "run/cost"
)

// Charge is what one call takes from a count of its run.
type Charge struct {
	What string `json:"what"`
	// Add is what it takes; negative: gives back.
	Add int64 `json:"add"`
	// Max is the most that may be used; 0: no bound.
	Max int64 `json:"max,omitempty"`
}

// Fits reports whether a run that has used so much may be charged. A run that has
// used all of it may not, even by a call that is not known to cost anything.
func (c Charge) Fits(used int64) bool {
	return c.Max == 0 || used < c.Max && c.Add <= c.Max-used
}

// Sum is what is used after the charge: it never falls below 0, and stops at the
// largest number instead of beginning anew.
func (c Charge) Sum(used int64) int64 {
	if c.Add > 0 && used > math.MaxInt64-c.Add {
		return math.MaxInt64
	}
	return max(used+c.Add, 0)
}

// SpentError is a charge that does not fit. Nothing was charged.
type SpentError struct {
	Charge

	Used int64
}

// Error says how much was used.
func (e *SpentError) Error() string {
	return fmt.Sprintf("%s of the run: %d of %d used, %d wanted", e.What, e.Used, e.Max, e.Add)
}

// Counts is where it is known what a run has used.
type Counts interface {
	// Used returns what a run has used of all that is counted, by Charge.What.
	Used(ctx context.Context, run string) (map[string]int64, error)
}
