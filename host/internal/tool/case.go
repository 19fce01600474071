// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import "time"

// Case is one call on its way through the gates. It belongs to one goroutine;
// gates read it, only the executor changes it.
type Case struct {
	*Call

	// ID is the call's id, RunID its run's, scoped by principal.
	ID, RunID string
	// Who is Principal.String, which many ask for.
	Who string
	// Spec is what is called. It is not to be changed.
	Spec *Spec
	// Args are the asked arguments, or what an Edit made of them.
	Args JSON
	// Started is when the call arrived.
	Started time.Time
	// Origin is a keyed digest of the adapter's program and configuration.
	Origin Digest
	// Confirm says that somebody has to decide about this call, and Why says
	// why. The rules set them.
	Confirm bool
	Why     string
	// Approval is the approval that was granted for exactly this call, empty
	// if none was; ApprovedBy who granted it.
	Approval, ApprovedBy string
	// Sent: an earlier round of the call has left the host, and was counted.
	Sent bool
}

// Decision is what a gate says.
type Decision string

// The decisions. The zero Decision is no decision: a gate that gives it is
// broken, and the call is refused.
const (
	// Pass: on to the next gate.
	Pass Decision = "pass"
	// Edit: on, with Verdict.Args.
	Edit Decision = "edit"
	// Ask: somebody has to decide first.
	Ask Decision = "ask"
	// Refuse: the call ends with Verdict.Err.
	Refuse Decision = "refuse"
)

// Verdict is a gate's decision and why.
type Verdict struct {
	Decision Decision
	// Reason is for the operator: log and explain.
	Reason string
	// Args, with Edit.
	Args JSON
	// Err, with Refuse.
	Err *Error
	// Line is that of the operator's rule that says so; 0: none does.
	Line int
	// Confirm, if not nil, says whether somebody has to decide about the call.
	Confirm *bool
}

// Passed is the verdict of a gate that has nothing against a call.
func Passed(reason string) Verdict { return Verdict{Decision: Pass, Reason: reason} }

// Refused is the verdict of a gate that ends a call.
func Refused(reason string, err *Error) Verdict {
	return Verdict{Decision: Refuse, Reason: reason, Err: err}
}
