// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlite reads one SQLite file, and of it only what is listed.
//
// SQLite itself is the judge: it says what a statement means, and a second
// parser would only be a second opinion. A statement passes, in this order,
//
//  1. inspect: a lexer refuses what cannot be one plain SELECT: comments, a
//     second statement, NUL, invalid UTF-8, and a CTE that takes the name of a
//     listed view.
//  2. the naming trial, only if the text holds the name of something that is
//     not listed: is it used as a table? (trial.go says how SQLite is asked.)
//     After it an unlisted table cannot be told from a missing one.
//  3. the authorizer, which SQLite asks about every table, column and function
//     while it compiles.
//  4. the program: the compiled statement may only open the b-trees of what the
//     authorizer let pass.
//
// Beneath that the file is opened for reading only, the file system layer
// refuses writes whatever SQLite asks for, and the connection is in defensive
// mode with every limit down.
//
// A statement that has passed is kept prepared, and runs again without being
// judged again until the schema changes.
package sqlite
