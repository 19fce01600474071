//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

// resident is not known here.
func resident(int) int64 { return 0 }
