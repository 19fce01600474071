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

const (
	// noticesAtOnce is how many messages to its client a call may send at once.
	noticesAtOnce = 100
	// noticesEvery is how long one more takes to be allowed.
	noticesEvery = 50 * time.Millisecond
)

// allowance lets through as many messages as a client can read. The zero value is
// full.
type allowance struct {
	mu    sync.Mutex
	spent int
	at    time.Time // since when spent is right
}

func (a *allowance) take(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	back := int(min(now.Sub(a.at)/noticesEvery, noticesAtOnce))
	if a.spent = max(a.spent-back, 0); a.spent == 0 {
		a.at = now
	} else {
		a.at = a.at.Add(time.Duration(back) * noticesEvery)
	}
	if a.spent == noticesAtOnce {
		return false
	}
	a.spent++
	return true
}
