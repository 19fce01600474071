// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry is the live catalogue: public name to spec and runner. It is
// replaced adapter by adapter, each time whole and atomically, so that a reader
// never sees half of an adapter.
package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Offer is one tool that an adapter offers: its spec, sealed, and the compiled
// schemas of the spec. Output is nil without an output schema.
type Offer struct {
	Spec          tool.Spec
	Input, Output *schema.Schema
	// Alias is the full name where the public name had to be changed; it can
	// be called, but rules, limits, cache and approvals see the public name.
	Alias string
	// Limits are those of the adapter.
	Limits Limits
	// Origin is a keyed digest of the adapter's program and configuration: an
	// approval of a call holds only for what it was given for.
	Origin tool.Digest
	// MayAsk: the adapter may put questions to the client's user.
	MayAsk bool
}

// Limits bound the calls of one adapter.
type Limits struct {
	// Timeout of one call, from the moment that it is sent; 0 is none.
	Timeout time.Duration
	// MaxInFlight calls at once; 0 is no bound.
	MaxInFlight int
}

// Entry is one callable tool as acquired.
type Entry struct {
	*Offer

	// Runner runs the tool.
	Runner tool.Runner
}

// Snapshot is the catalogue at one moment. It is immutable.
type Snapshot struct {
	// Version grows with every change.
	Version uint64
	// Offers are sorted by public name.
	Offers []*Offer

	byName map[string]slot
	moored map[string]mooring
}

// slot is where a name leads.
type slot struct {
	offer *Offer
	berth *berth
}

// mooring is what one adapter has in the catalogue.
type mooring struct {
	berth  *berth
	offers []*Offer
}

// Registry is the live catalogue. It is safe for concurrent use.
type Registry struct {
	mu      sync.Mutex // serialises changes
	current atomic.Pointer[Snapshot]
	changed atomic.Pointer[chan struct{}] // closed at the next change
}

// New returns an empty registry.
func New() *Registry {
	r := &Registry{}
	r.current.Store(&Snapshot{byName: map[string]slot{}, moored: map[string]mooring{}})
	next := make(chan struct{})
	r.changed.Store(&next)
	return r
}

// Snapshot returns the catalogue of now.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load() }

// CollisionError is a public name that two adapters, or one adapter twice,
// would have. The incumbent keeps it, and nothing was replaced.
type CollisionError struct{ Name, Incumbent, Newcomer string }

// Error names both owners.
func (e *CollisionError) Error() string {
	if e.Incumbent == e.Newcomer {
		return fmt.Sprintf("adapter %s declares two tools whose public name is %s", e.Newcomer, e.Name)
	}
	return fmt.Sprintf("tool %s of adapter %s collides with that of adapter %s; give one of them another prefix",
		e.Name, e.Newcomer, e.Incumbent)
}

// Replace puts offers and their runner in the place of everything that the
// adapter offered before; no offers and a nil runner remove it. On error, every
// *CollisionError joined, nothing has changed.
//
// The channel is closed once no call holds the runner that was replaced: until
// then it must not be drained. It is already closed if there was none, and if
// it is the same runner.
func (r *Registry) Replace(adapter string, runner tool.Runner, offers []*Offer) (<-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.current.Load()
	if err := collisions(old, adapter, offers); err != nil {
		return nil, err
	}
	before, was := old.moored[adapter]
	moored := maps.Clone(old.moored)
	delete(moored, adapter)
	same := was && before.berth.runner == runner
	if runner != nil {
		b := before.berth
		if !same {
			b = newBerth(runner)
		}
		moored[adapter] = mooring{b, offers}
	}
	r.publish(&Snapshot{Version: old.Version + 1, moored: moored})
	if !was || same {
		return closed(), nil
	}
	return before.berth.retire(), nil
}

// publish fills in what is derived and makes the snapshot the current one.
func (r *Registry) publish(s *Snapshot) {
	s.byName = map[string]slot{}
	for _, m := range s.moored {
		for _, o := range m.offers {
			s.Offers = append(s.Offers, o)
			s.byName[o.Spec.Name] = slot{o, m.berth}
		}
	}
	slices.SortFunc(s.Offers, func(a, b *Offer) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	for _, o := range s.Offers { // a name proper goes before an alias, and the first alias before later ones
		if _, taken := s.byName[o.Alias]; o.Alias != "" && !taken {
			s.byName[o.Alias] = slot{o, s.moored[o.Spec.Adapter].berth}
		}
	}
	r.current.Store(s)
	fresh := make(chan struct{})
	close(*r.changed.Swap(&fresh))
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func collisions(old *Snapshot, adapter string, offers []*Offer) error {
	var errs []error
	mine := map[string]bool{}
	for _, o := range offers {
		name := o.Spec.Name
		if mine[name] {
			errs = append(errs, &CollisionError{name, adapter, adapter})
			continue
		}
		mine[name] = true
		if s, ok := old.byName[name]; ok && s.offer.Spec.Name == name && s.offer.Spec.Adapter != adapter {
			errs = append(errs, &CollisionError{name, s.offer.Spec.Adapter, adapter})
		}
	}
	return errors.Join(errs...)
}

// Acquire finds a tool by its public name or its alias and holds its runner
// until release is called, once.
func (r *Registry) Acquire(name string) (e Entry, release func(), ok bool) {
	for {
		s, found := r.current.Load().byName[name]
		if !found {
			return Entry{}, nil, false
		}
		if s.berth.hold() {
			return Entry{Offer: s.offer, Runner: s.berth.runner}, s.berth.release, true
		}
		// It was replaced in between; the newer snapshot is there already.
	}
}

// Find returns a tool by its public name or its alias without holding it.
func (s *Snapshot) Find(name string) (*Offer, bool) {
	found, ok := s.byName[name]
	return found.offer, ok
}

// Changes yields the catalogue of now and then of each change, until ctx ends.
// Changes that come while the loop's body runs are seen as one.
func (r *Registry) Changes(ctx context.Context) iter.Seq[*Snapshot] {
	return func(yield func(*Snapshot) bool) {
		for {
			next := *r.changed.Load()
			if !yield(r.current.Load()) {
				return
			}
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
		}
	}
}
