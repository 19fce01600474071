// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Mode is who decides an approval.
type Mode string

// The modes in which somebody is asked.
const (
	// Deferred: an operator decides, at any time before it expires.
	Deferred Mode = "deferred"
	// Form: the user of the calling client decides, by a form.
	Form Mode = "form"
)

// Status is where an approval is in its life. It goes one way:
//
//	pending -> approved -> used
//	pending -> denied | withdrawn
//
// and pending or approved become expired by the store's clock.
type Status string

// The statuses.
const (
	Pending   Status = "pending"
	Approved  Status = "approved"
	Denied    Status = "denied"
	Used      Status = "used"
	Expired   Status = "expired"
	Withdrawn Status = "withdrawn"
)

// Record is one approval: one decision about one exact call, used once.
type Record struct {
	// ID names it. Knowing an id grants nothing.
	ID     string
	Mode   Mode
	Status Status
	// Principal is tool.Principal.String of who called; Run and Call are ids
	// scoped by it. A principal has one approval of a Call.
	Principal, Run, Call string
	Tool, Adapter        string
	Effects              tool.Effects
	// Spec and Origin are digests of what would run: the tool as described,
	// and the adapter's program and configuration.
	Spec, Origin tool.Digest
	// Args are the asked arguments as they came, Edited what an operator made
	// of them, nil if nothing. What runs is one of these two.
	Args, Edited []byte
	// Why says why somebody has to decide.
	Why string
	// Created, Expires and Decided are by the store's clock.
	Created, Expires, Decided time.Time
	// DecidedBy is tool.Principal.String of who decided, or "client" and the
	// principal for a form.
	DecidedBy, Reason string
	// Running: it was used, and the call that used it has not ended.
	Running bool
}

// Runs returns the arguments that run.
func (r *Record) Runs() []byte {
	if r.Edited != nil {
		return r.Edited
	}
	return r.Args
}

// Decision is what somebody decides.
type Decision struct {
	Approve bool
	// By is tool.Principal.String of who decides.
	By string
	// Edited are arguments to run in place of the asked ones, nil to run
	// those; not with a denial.
	Edited []byte
	// Reason is for the caller and the ledger; may be empty.
	Reason string
}

// Quota bounds what is pending at once; 0 is no bound.
type Quota struct{ PerPrincipal, Total int }

// Errors of a store of approvals.
var (
	// ErrNone: there is no such approval, or not of this principal: the two
	// look the same.
	ErrNone = errors.New("no such approval")
	// ErrQuota: too many are pending.
	ErrQuota = errors.New("too many approvals are pending")
)

// StatusError is an approval that is not in the status that was needed.
// Nothing was changed.
type StatusError struct {
	ID     string
	Status Status
	// Running: it was used by a call that has not ended.
	Running bool
}

// Error says where it is instead.
func (e *StatusError) Error() string { return fmt.Sprintf("approval %s is %s", e.ID, e.Status) }
