// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build windows

package toolwharf

import "os"

// orphaned returns a channel that is closed when the process that started this
// one has ended.
func orphaned() <-chan struct{} {
	gone := make(chan struct{})
	parent, err := os.FindProcess(os.Getppid())
	if err != nil {
		close(gone)
		return gone
	}
	go func() {
		if _, err := parent.Wait(); err == nil {
			close(gone)
		}
	}()
	return gone
}
