// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package account gives adapters of a root host users of their own, so that what no
// sandbox covers (chmod, signals, the number of processes) ends at a user too. Who
// has which is recorded; a user that runs is claimed on the whole machine.
package account
