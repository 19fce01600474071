// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"sync"
	"time"
)

// progressEvery is the least time between two progress messages of one call:
// the host accepts ten a second.
const progressEvery = 100 * time.Millisecond

// pace lets through what a client should see of a call's progress.
type pace struct {
	mu    sync.Mutex
	begun bool
	done  float64
	at    time.Time
}

func (p *pace) admit(done, total float64, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun && (done <= p.done || now.Sub(p.at) < progressEvery && (total <= 0 || done < total)) {
		return false
	}
	p.begun, p.done, p.at = true, done, now
	return true
}
