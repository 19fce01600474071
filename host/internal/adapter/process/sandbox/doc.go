// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package sandbox confines a process before it runs a single instruction of its
// own: limits, no capabilities, no new privileges, Landlock, seccomp. A policy
// holds for one thread and for what that thread executes, so that the guardian,
// which enters it on a thread of its own and starts the plugin from there, stays
// free to look after the plugin.
//
// It imports little: the guardian does what it does from its init. Only Linux has
// what this needs.
package sandbox
