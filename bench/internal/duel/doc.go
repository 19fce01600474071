// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package duel compares two servers that do the same: in alternating slices, so
// that both meet the same weather, and by ratios that are taken round by round,
// so that what remains of the weather cancels out.
package duel
