// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package store has what all stores have in common: the errors they return and
// how they say that they are well. A store is durable, shared by several
// processes, and keeps the ledger, the open intents (what was about to be sent to
// an adapter and has not ended), the approvals, and the leases of the hosts.
//
// The stores are the packages below: sqlite, a file for the processes of one
// machine. Package storetest is the suite that each must pass. Package spool keeps
// what a store cannot take.
//
// A row is written once and never changed. Its Seq is given by the store inside
// the transaction that writes it, so the rows of all processes count from 1
// without gaps in the order in which they became visible: a reader that has
// seen Seq n never misses a smaller one.
package store
