// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package toolwharf

import (
	"os"
	"time"
)

// orphaned returns a channel that is closed when the process that started this
// one has ended. On Linux the host has the kernel see to that as well; where it
// cannot, looking once a second is what every unix has.
func orphaned() <-chan struct{} {
	gone := make(chan struct{})
	parent := os.Getppid()
	go func() {
		for range time.Tick(time.Second) {
			if os.Getppid() != parent {
				close(gone)
				return
			}
		}
	}()
	return gone
}
