// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// Journal is the one durable port of a call. Each method is one transaction,
// safe for concurrent use; a store may commit several together.
type Journal interface {
	// Begin records that a call is about to be sent. When it returns nil for
	// a Durable intent, the intent survives a crash of the machine. An error
	// means that nothing was written, and the call is not sent.
	Begin(context.Context, Intent) error
	// End records how a call ended: every call, the refused ones too. It
	// settles the intent of the same call, if there is one.
	End(context.Context, Record) error
}

// Intent is a call that is about to be sent.
type Intent struct {
	// Row without its outcome.
	ledger.Row
	// Durable: the call has effects or was approved. What is not may be kept
	// in memory, or not at all.
	Durable bool
}

// Record is a call that has ended.
type Record struct {
	ledger.Row
	// Behind: the row may be written up to 100 ms after End has returned.
	Behind bool
}
