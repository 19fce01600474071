// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package kept keeps results that are too large to be given, for a while, in memory:
// whoever has made the call, and nobody else, reads them as resources.
//
// It is bounded: by result, by principal, in all, and in time. Where there is no room,
// the oldest of whoever has the most goes, so that no principal crowds out another.
package kept
