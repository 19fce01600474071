// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval

// Query selects approvals. The zero Query selects all, the oldest first.
type Query struct {
	// Newest: the newest first.
	Newest bool
	// Past, if not empty, is the id of an approval; only those that come after it
	// in this order are selected, none if there is no such approval.
	Past string
	// Status, if not empty, selects what is in it at the moment, by the store's
	// clock.
	Status Status
	// Mode, Principal, Run, Call, Tool and Adapter, if not empty, select equal
	// ones.
	Mode                                Mode
	Principal, Run, Call, Tool, Adapter string
}
