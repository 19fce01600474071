// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package archtest has no code, only tests of what no compiler checks: who may
// import whom across all modules of the repository, that every package says what
// it is for, and that every direct dependency has its reason in
// docs/dependencies.md.
//
// The tests ask the go command about the modules beside this one, which the test
// cache does not see: run them with -count=1.
package archtest
