// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package trial holds rules against cases: files that say which call of whom is to
// be allowed, denied or confirmed, and by which line.
package trial
