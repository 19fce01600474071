// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "errors"

// What every store can say, found with errors.Is.
var (
	// ErrClosed: the store is closed, nothing was written.
	ErrClosed = errors.New("store is closed")
	// ErrQueued: the caller of End stopped waiting; the row is on its way and
	// is written whatever the caller does, so it must not be given again.
	ErrQueued = errors.New("still being written")
	// ErrBegun: the call has an open intent already.
	ErrBegun = errors.New("call has begun already")
	// ErrTooLarge: the texts of a row exceed MaxRow.
	ErrTooLarge = errors.New("ledger row is too large")
	// ErrHost: the host instance has been on the store before. A host that is
	// started again is another instance, with a chain of its own.
	ErrHost = errors.New("host instance is known already")
	// ErrForeign: what is there was not made by Toolwharf. It was not touched.
	ErrForeign = errors.New("not a toolwharf store")
	// ErrNewer: a newer Toolwharf has made or migrated it. It was not touched.
	ErrNewer = errors.New("store was written by a newer toolwharf")
)

// MaxRow bounds all texts of one row together, in bytes: a queue of rows is
// bounded only if a row is.
const MaxRow = 1 << 20
