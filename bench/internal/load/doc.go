// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package load makes calls as fast as they are answered, from a number of
// clients at once, for a given time, and says what that took.
package load
