//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

// Here: this system has no sandbox for plugins.
const Here = false

// Probe finds nothing.
func Probe() Support {
	const why = "only Linux has it"
	return Support{WhyNoLandlock: why, WhyNoSeccomp: why}
}
