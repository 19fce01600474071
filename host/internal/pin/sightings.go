// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// SightingsName is the file of what was seen, in the state directory. It has
// the form of a lock.
const SightingsName = "specs.lock"

const (
	// maxKnown tools of one adapter are known, those that are gone too: a tool
	// that comes back is no stranger.
	maxKnown = 4000
	// guardTime bounds the wait for another host that writes.
	guardTime = 5 * time.Second
)

// Sightings keep what the tools of each adapter said of themselves when they
// were first seen, where the programs themselves are not pinned. The first
// sight is trusted. What a tool claims later may be stricter, and then counts;
// what is weaker is held back until an operator accepts it. Several hosts may
// share the state directory.
type Sightings struct {
	// Dir is the state directory.
	Dir string

	mu    sync.Mutex
	last  *Lock       // as it was read or written last; nil: not yet
	stamp os.FileInfo // of the file then
}

// Path is the file.
func (s *Sightings) Path() string { return filepath.Join(s.Dir, SightingsName) }

// Review returns the tools of an adapter as they may be offered, and what is
// held back. A tool stays offered under the claims that were accepted for it,
// and everything else of it is the newest: nothing is weaker for it, and nobody
// loses the tool because its plugin was updated.
func (s *Sightings) Review(adapter string, tools []tool.Spec) (fit []tool.Spec, notes []string, err error) {
	unlock, err := guard(s.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("what is known of its tools cannot be read: %w", err)
	}
	defer unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.newest()
	if err != nil {
		return nil, nil, fmt.Errorf("what is known of its tools cannot be read: %w", err)
	}
	mine := known.Adapters[adapter]
	if mine == nil {
		mine = Tools{}
		known.Adapters[adapter] = mine
	}
	fit, notes, learned := mine.sight(adapter, tools)
	if learned {
		if err := s.keep(known); err != nil {
			notes = append(notes, fmt.Sprintf("what its tools claim could not be kept, and will be trusted anew: %v", err))
		}
	}
	return fit, notes, nil
}

// sight holds tools to what is known of them, and learns.
func (known Tools) sight(adapter string, tools []tool.Spec) (fit []tool.Spec, notes []string, learned bool) {
	for _, spec := range tools {
		if !named.MatchString(spec.Declared) {
			notes = append(notes, fmt.Sprintf("tool %.128q left out: it has no name that could be known again", spec.Declared))
			continue
		}
		now := Of(spec)
		before, seen := known[spec.Declared]
		switch {
		case !seen && len(known) >= maxKnown:
			notes = append(notes, fmt.Sprintf("tool %s left out: the adapter has shown more than %d; `toolwharf plugins pin %s` forgets those that are gone",
				spec.Declared, maxKnown, adapter))
			continue
		case !seen:
			before = now
			known[spec.Declared] = now
			learned = true
		}
		holds := before.Stricter(now)
		if holds != before {
			holds.Spec = now.Spec
			known[spec.Declared] = holds
			learned = true
		}
		if holds.weakens(now) {
			notes = append(notes, fmt.Sprintf("tool %s is held back: %s; what was accepted holds until `toolwharf plugins pin %s`",
				spec.Declared, holds.Changes(now), adapter))
			holds.Apply(&spec)
		}
		fit = append(fit, spec)
	}
	return fit, notes, learned
}

// newest is what the file says. It is read again only if it is not the one that
// was read or written last: adapters come with whole catalogues, again and again.
func (s *Sightings) newest() (*Lock, error) {
	if now, err := os.Stat(s.Path()); err == nil && s.last != nil && same(s.stamp, now) {
		return s.last, nil
	}
	known, err := s.Known()
	if err != nil {
		return nil, err
	}
	s.last = known
	s.stamp, _ = os.Stat(s.Path()) // not there: the same as no stamp
	return known, nil
}

// keep writes what was learned.
func (s *Sightings) keep(known *Lock) error {
	s.last = nil
	if err := Write(s.Path(), known, 0o600); err != nil {
		return err
	}
	stamp, err := os.Stat(s.Path())
	if err != nil {
		return err
	}
	s.last, s.stamp = known, stamp
	return nil
}

// Known is everything that is known.
func (s *Sightings) Known() (*Lock, error) {
	l, err := Read(s.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return NewLock(), nil
	}
	return l, err
}

// Accept makes what the tools of some adapters say now what is known of them.
func (s *Sightings) Accept(adapters map[string]Tools) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	unlock, err := guard(s.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	known, err := s.Known()
	if err != nil {
		return err
	}
	maps.Copy(known.Adapters, adapters)
	return Write(s.Path(), known, 0o600)
}

// guard keeps other hosts from writing until unlock.
func guard(dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), guardTime)
	defer cancel()
	for {
		unlock, busy, err := lockDir(dir)
		if !busy {
			return unlock, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("another host has held %s for %v", dir, guardTime)
		}
	}
}
