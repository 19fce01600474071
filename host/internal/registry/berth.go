// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// berth is one runner of one adapter, and how many calls hold it.
type berth struct {
	runner tool.Runner

	mu      sync.Mutex
	held    int
	retired bool
	free    chan struct{} // closed once retired and not held
}

func newBerth(runner tool.Runner) *berth {
	return &berth{runner: runner, free: make(chan struct{})}
}

// hold reports whether the runner may still be used; release must follow.
func (b *berth) hold() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.retired {
		return false
	}
	b.held++
	return true
}

func (b *berth) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held--
	if b.retired && b.held == 0 {
		close(b.free)
	}
}

// retire lets nobody hold the runner any more. The channel is closed once
// nobody does.
func (b *berth) retire() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retired = true
	if b.held == 0 {
		close(b.free)
	}
	return b.free
}
