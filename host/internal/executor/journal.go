// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/limit"
)

// Journal is the one durable port of a call. Each method is one transaction,
// safe for concurrent use; a store may commit several together.
type Journal interface {
	// Begin records that a call is about to be sent. When it returns nil for
	// a Durable intent, the intent survives a crash of the machine. An error
	// means that nothing was written, and the call is not sent.
	Begin(context.Context, Intent) error
	// End records how a call ended: every call, the refused ones too. It
	// settles the intent of the same Call and Started, if there is one: another
	// request for the call, refused while it runs, does not. An error that is
	// ErrSpooled means that the row is safe, but not in the ledger yet.
	End(context.Context, Record) error
}

// Intent is a call that is about to be sent.
type Intent struct {
	// Row without its outcome.
	ledger.Row
	// Durable: the call has effects or was approved. What is not may be kept
	// in memory, or not at all.
	Durable bool
	// Approval, if not empty, is spent in the same transaction: it must be
	// approved and not expired, by the store's clock. Otherwise Begin returns
	// an *approval.StatusError and nothing was written.
	Approval string
	// Round, if not empty, names a sealed state that was brought back. It is
	// spent in the same transaction: Begin returns ErrRoundSpent, and nothing
	// was written, if it was before. It is remembered until RoundUntil.
	Round      string
	RoundUntil time.Time
	// Charges are taken from what the run, Row.Run, may use, in the same
	// transaction: all fit, or Begin returns a *limit.SpentError and nothing was
	// written. They outlive a crash of the process also where the intent is not
	// Durable.
	Charges []limit.Charge
}

// ErrRoundSpent is a sealed state that was brought back before.
var ErrRoundSpent = errors.New("this state was used already")

// ErrSpooled is what End returns of a row that could not be written to the
// store and lies in the local spool: it must not be given again. The result of
// such a call says that it was not recorded.
var ErrSpooled = errors.New("recorded in the local spool only")

// Approvals keeps approvals, in the same store as the journal. Decisions made
// in any process on the store are seen by all.
type Approvals interface {
	// Ask writes a pending approval that expires after a time, by the store's
	// clock, and returns it with its times. It returns approval.ErrQuota when
	// too many are pending.
	Ask(ctx context.Context, r approval.Record, expires time.Duration, q approval.Quota) (*approval.Record, error)
	// OfCall returns a principal's approval of a call, or approval.ErrNone.
	OfCall(ctx context.Context, principal, call string) (*approval.Record, error)
	// Decide decides a pending approval and records the decision in the
	// ledger. It returns approval.ErrNone, or an *approval.StatusError if it
	// is not pending.
	Decide(ctx context.Context, id string, d approval.Decision) (*approval.Record, error)
	// Withdraw ends a pending approval whose caller has gone. One that is not
	// pending is left as it is.
	Withdraw(ctx context.Context, id string) error
	// Await returns once the approval is not pending any more, or when ctx
	// ends.
	Await(ctx context.Context, id string) error
}

// Record is a call that has ended.
type Record struct {
	ledger.Row
	// Behind: the row may be written up to 100 ms after End has returned.
	Behind bool
	// Settle are charges of the run, whatever it has used, in the same transaction
	// as the row: what the call has cost beyond its charges, or what is given back.
	Settle []limit.Charge
	// Once, if not empty, names the row: End of a row whose name was written
	// before does nothing and returns nil. A spool names its rows, so that one
	// that is given again after a crash is not there twice.
	Once string
}
