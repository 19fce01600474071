// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import "time"

// madeAt is before any host of this version: a clock that says less was never
// set.
var madeAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// tolerance is how far clocks of machines that share a store may differ.
const tolerance = time.Minute

// Clock judges the time. newest is when the newest row of the ledger ended; zero:
// there is none.
func Clock(now, newest time.Time) Check {
	const name, do = "clock", "set the clock: approvals and tokens expire by it, and the ledger is dated by it"
	switch {
	case now.Before(madeAt):
		return Failed(name, do, "it says %s, which was before this program was made", now.UTC().Format(time.RFC3339))
	case newest.After(now.Add(tolerance)):
		return Failed(name, do, "it says %s, and the newest row of the ledger is of %s",
			now.UTC().Format(time.RFC3339), newest.UTC().Format(time.RFC3339))
	default:
		return Passed(name, "it says %s", now.UTC().Format(time.RFC3339))
	}
}
