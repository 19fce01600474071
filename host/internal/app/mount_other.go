//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

// readOnly cannot be told here.
func readOnly(string) bool { return false }
