//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import "context"

// Kernel knows nothing of other systems.
func Kernel(context.Context) []Check {
	return []Check{Warned("sandbox", "give the host a user or a container of its own; see who may read what it may",
		"adapters run without a sandbox on this system: each has its own process and secrets, and the user and files of the host")}
}
