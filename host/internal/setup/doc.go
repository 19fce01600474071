// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package setup is what a first run writes: a configuration for what the user
// points at (Init), and the entry by which a client finds the host (Connect).
// It never overwrites a configuration, and it edits a client's file only where
// the host's own entry stands.
package setup
