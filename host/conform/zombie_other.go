//go:build unix && !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

func zombie(int) bool { return false }
