//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

// short returns path: a socket's path has at most some 100 bytes here, and the
// system says so.
func short(path string) (address string, release func(), err error) { return path, func() {}, nil }
