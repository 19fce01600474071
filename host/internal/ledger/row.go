// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger is the append-only record of every call and decision: what a
// row is, and how rows are shown and exported. A store keeps them.
package ledger

import (
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Outcome is how a call ended, in the ledger's column of that name.
type Outcome string

// The outcomes.
const (
	// OK: a result was given.
	OK Outcome = "ok"
	// Refused: nothing was sent to an adapter.
	Refused Outcome = "refused"
	// Failed: it was sent, or could not be, and no result was given.
	Failed Outcome = "failed"
	// Pending: it waits for a decision or for an answer.
	Pending Outcome = "pending"
	// Unknown: it may have had its effects.
	Unknown Outcome = "unknown"
	// Approved and Denied are the outcomes of decisions.
	Approved Outcome = "approved"
	Denied   Outcome = "denied"
	// Withdrawn: the caller of a pending call has gone.
	Withdrawn Outcome = "withdrawn"
)

// OpDecision is the Op of a row that tells of a decision, not of a call. Its
// Principal is who decided.
const OpDecision tool.Op = "decision"

// OpReload is the Op of a row that tells of a reload of the configuration: OK if
// it was taken, Refused if not. It concerns no tool; its Call is an id of its
// own, its Args a keyed digest of the file that was taken.
const OpReload tool.Op = "reload"

// OpSubscription is the Op of a row that tells of a subscription to a resource: OK
// if it was granted, Refused if not. Nothing is sent.
const OpSubscription tool.Op = "subscription"

// PrefixReload begins the ids of reloads.
const PrefixReload = "reload_"

// Row is one call in the ledger. Digests stand for arguments and results: the
// ledger holds no payload.
type Row struct {
	// Seq counts from 1 in the store, without gaps; 0 before it is written.
	Seq int64
	// Host is the host instance that wrote it.
	Host string
	// Started is when the call arrived, Ended when it was answered.
	Started, Ended time.Time
	// Call and Run are ids; Attempt is the last attempt, 0 if none was made.
	Call, Run string
	Attempt   int
	// Principal is tool.Principal.String.
	Principal string
	Op        tool.Op
	// Tool is the public name, Adapter its owner.
	Tool, Adapter string
	Effects       tool.Effects
	// Spec and Args are digests of what was called and with what. That of the
	// arguments is keyed: whoever reads the ledger cannot try out what they
	// were.
	Spec, Args tool.Digest
	// Asked is the keyed digest of the arguments that were asked for, where an
	// operator has edited them; zero otherwise.
	Asked tool.Digest
	// Approval is the approval that the call waits for, was decided by, or, in
	// a row of a decision, that was decided.
	Approval string
	// DecidedBy is who decided it.
	DecidedBy string
	// Late: the row tells the outcome of a call that another host had to
	// report as unknown.
	Late    bool
	Outcome Outcome
	// Gate is the gate that ended the call, empty if none did.
	Gate string
	// Kind, Code and Detail say what went wrong; empty with OK.
	Kind   tool.Kind
	Code   string
	Detail string
	// Ran says whether a call that did not succeed had effects.
	Ran tool.Ran
	// ResultBytes is the size of the result as given.
	ResultBytes int64
	// Cost is an exact decimal, empty if none.
	Cost string
	// Client and Protocol are what the client says of itself.
	Client, Protocol string
}

// Query selects rows. The zero Query selects all.
type Query struct {
	// After selects rows with a greater Seq.
	After int64
	// Since and Until, if not zero, select rows whose Ended is not before
	// Since and before Until. Microseconds count.
	Since, Until time.Time
	// Last, if positive, selects that many newest rows of the rest.
	Last int
	// Tool, Adapter, Run, Call, Principal, Approval, Host, Outcome, Kind and Op,
	// if not empty, select equal ones.
	Tool, Adapter, Run, Call, Principal, Approval, Host string
	Outcome                                             Outcome
	Kind                                                tool.Kind
	Op                                                  tool.Op
}

// Match reports whether q selects a row, apart from Last.
func (q *Query) Match(r *Row) bool {
	equal := func(want, is string) bool { return want == "" || want == is }
	return r.Seq > q.After &&
		(q.Since.IsZero() || r.Ended.UnixMicro() >= q.Since.UnixMicro()) &&
		(q.Until.IsZero() || r.Ended.UnixMicro() < q.Until.UnixMicro()) &&
		equal(q.Tool, r.Tool) && equal(q.Adapter, r.Adapter) && equal(q.Run, r.Run) && equal(q.Call, r.Call) &&
		equal(q.Principal, r.Principal) && equal(q.Approval, r.Approval) && equal(q.Host, r.Host) &&
		equal(string(q.Outcome), string(r.Outcome)) && equal(string(q.Kind), string(r.Kind)) &&
		equal(string(q.Op), string(r.Op))
}
