// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlite is the embedded store: one SQLite file in WAL mode, shared by
// the processes of one machine and one user. It must not lie on a network file
// system, where WAL cannot work.
//
// # Writing
//
// One goroutine per Store owns the one connection that writes. Callers queue,
// and whatever has queued while a commit ran is the next transaction: under
// load many rows share one fsync, and alone nobody waits for company. Rows that
// are written behind do not start a transaction of their own until they are a
// batch or Options.Behind has passed: a row costs 5 µs in a batch and 20 to 60
// alone.
//
// A transaction that somebody waits for is on the disk (synchronous=FULL) before
// that caller is answered. One of rows behind only is not synced
// (synchronous=NORMAL): it survives the process, and a crash of the machine once
// a later durable transaction or a checkpoint has synced the same log.
// Checkpoints run after the callers are answered.
//
// Several entries of a batch may each do several things: spend an approval and
// write an intent, decide and record the decision. Each is done as a whole or
// not at all, and one that is refused leaves the others alone.
//
// # Hosts
//
// Each Store is a host instance: it holds a lease (table hosts), renewed in the
// background and, if that could not be, by the next Begin. When it has run out or
// was ended by Close, any other host reports the open intents as unknown and
// notes that (table lost), so that an outcome that comes after all is a late one.
//
// The rows of a host are a chain (ledger.Link). Its signed head (table heads) is
// in the transaction of the rows, one signature for all of them; now and then a
// checkpoint says what the heads of the others were.
//
// Whatever expires does so by SQLite's clock, read inside the transaction that
// asks.
//
// # Reading
//
// Readers share one connection that cannot write. They read a bounded number of
// rows at a time and keep no transaction open while their caller works, since an
// open one would keep the log from being reset.
//
// # Several processes
//
// Each takes the write lock for one bounded transaction at a time and waits up
// to Options.Busy for it. Creation and migrations run in one transaction each,
// so any number of processes may open a new file at once.
package sqlite
