// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package proc reads the processor time and memory of a process and its
// descendants. It knows Linux only; elsewhere it knows nothing, and says so.
package proc
