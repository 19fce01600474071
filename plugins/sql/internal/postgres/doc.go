// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package postgres reads PostgreSQL.
//
// A statement is judged by a parser of its own before a server sees it, and
// runs in a transaction that may only read, over the extended protocol, which
// takes one statement at a time. Neither is enough alone: a transaction that
// may only read still calls functions that reach files and other servers, and a
// parser may be wrong. A role that may SELECT what is listed and nothing else is
// the third of these, and the one that only the owner of the database can give;
// [DB.Health] says what is missing from it.
//
// Nothing of a call outlives it: after each the transaction is rolled back and
// the session is reset to how it was when the connection was made. A connection
// of which that is in doubt is closed.
package postgres
