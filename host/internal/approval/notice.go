// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"strings"
	"time"
)

// Event is something that happens to an approval.
type Event string

// The events of approvals that an operator decides.
const (
	// EventPending: somebody has to decide.
	EventPending Event = "approval.pending"
	// EventDecided: somebody has decided, or the caller has withdrawn.
	EventDecided Event = "approval.decided"
)

// Notice is an event of which a receiver is still to be told. The store writes it
// in the transaction in which the event happens, and keeps it until it was
// delivered or given up.
type Notice struct {
	// ID is the same each time that it is delivered.
	ID       string
	Receiver string
	Event    Event
	Approval string
	// Status of the approval when it happened, and At when.
	Status Status
	At     time.Time
	// Attempt counts deliveries from 1.
	Attempt int
}

// Link is where a person decides about an approval, at a host that people reach at
// a URL. It grants nothing.
func Link(publicURL, id string) string { return strings.TrimSuffix(publicURL, "/") + "/approve/" + id }
