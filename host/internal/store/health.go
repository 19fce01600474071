// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package store

// Health is how a store fares since it was opened by this process.
type Health struct {
	// Err is why the newest transaction failed, nil if it did not. It concerns
	// the store, not a row that could not be right.
	Err error
	// Lost counts rows that End had accepted and that could not be written:
	// those written behind, and those whose caller stopped waiting. LostErr
	// says why for the last of them.
	Lost    int64
	LostErr error
	// Queued is how many rows and intents have been accepted and are not yet
	// committed.
	Queued int
	// Rows and Intents were written in this many Commits.
	Rows, Intents, Commits int64
}
