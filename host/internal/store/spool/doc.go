// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package spool keeps the rows that a store cannot take, so that a full disk or a
// broken database loses no record of what has run.
//
// A Journal stands before a store's. A row that the store refuses becomes a line
// of JSON in a file of this host's own, synced before End returns. While there
// is such a row, no call with effects begins: Begin gives the rows to the store
// first. The same is tried again and again in the background, and, for the rows
// of a host that has gone, by whichever host finds its file.
//
// Files in the directory, HOST being a host instance:
//
//	HOST.jsonl         rows that wait
//	HOST.TIME.flush    the same, on their way; removed when the store has all
//	HOST.bad           lines that are none, half ones for example; kept for people
//
// Each row has an id, and the store takes an id once (executor.Record.Once): a
// crash between the store's commit and the removal of the file doubles nothing.
package spool
