// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"fmt"
	"sync"
	"time"
)

// DefaultFloor is the default of Options.Floor.
const DefaultFloor = 64 << 20

// Free returns how many bytes this user can still write where dir is, if the
// system tells.
func Free(dir string) (n uint64, known bool) { return free(dir) }

// floor looks now and then how much space is left.
type floor struct {
	dir   string
	least int64

	mu     sync.Mutex
	looked time.Time
	err    error
}

// check returns ErrFloor if too little is left.
func (f *floor) check() error {
	if f.least < 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.looked) >= time.Second {
		f.looked, f.err = now, f.look()
	}
	return f.err
}

// look is content where the system does not tell: then what cannot be written
// says so itself.
func (f *floor) look() error {
	left, known := free(f.dir)
	if !known || left >= uint64(f.least) { //nolint:gosec // not negative
		return nil
	}
	return fmt.Errorf("%w: %d MiB in %s, at least %d MiB are needed", ErrFloor, left>>20, f.dir, f.least>>20)
}
