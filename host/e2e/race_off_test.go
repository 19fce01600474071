//go:build !race

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

const raceEnabled = false
