// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package report prints what was measured, as Markdown for people and as JSON for
// programs.
package report
