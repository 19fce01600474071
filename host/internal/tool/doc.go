// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package tool has the words that everything else in the host is said in: what
// a tool is (Spec), one call of it (Call, Attempt), how it ended (Outcome,
// Error), who called (Principal), and JSON that arrived from outside (JSON).
//
// It imports nothing of ours, knows no protocol and does nothing by itself.
package tool
