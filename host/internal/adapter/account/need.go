// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package account

// Need is what a process has to reach.
type Need struct {
	Path           string
	Write, Execute bool
	// Enter: it is a directory that is entered and not listed.
	Enter bool
	// Beneath: also everything beneath it.
	Beneath bool
}
