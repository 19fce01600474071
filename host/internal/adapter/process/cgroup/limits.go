// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

// Limits are what all processes of a group may have together.
type Limits struct {
	Memory int64 // bytes
	Tasks  int   // processes and threads
}
