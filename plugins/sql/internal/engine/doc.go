// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine is what the databases of this plugin have in common: what a
// statement, a parameter and a result are, and how refusals are worded. One
// database is one package beside it, and implements [Engine].
//
// Values are never converted on the way: what a database stores is what the
// caller reads, digit for digit. [Result] has the rules.
package engine
