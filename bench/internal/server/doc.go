// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package server starts the servers that are measured, each as a process of its
// own on a free port of 127.0.0.1, and ends them again, by process id, together
// with what they started.
package server
