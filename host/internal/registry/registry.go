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
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Offer is one tool, resource, family of resources or prompt that an adapter
// offers: its spec, sealed, and the compiled schemas of the spec. Output is nil
// without an output schema.
type Offer struct {
	Spec          tool.Spec
	Input, Output *schema.Schema
	// Resource, with Family for a family, and Prompt are what clients see of
	// what is no tool. Family matches the URIs of its members.
	Resource *tool.Resource
	Family   *regexp.Regexp
	Prompt   *tool.Prompt
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
	// AllowURLs: it may ask that user to open a URL.
	AllowURLs bool
}

// Whole reports whether it is a family of resources, and not one of its members.
func (o *Offer) Whole() bool {
	return o.Family != nil && o.Spec.Name == tool.ResourceName(o.Spec.Declared)
}

// Serves reports whether there can be a call of this kind: a resource of a family is
// read, the family itself is not.
func (o *Offer) Serves(op tool.Op) bool {
	return o.Spec.Serves(op) && (op != tool.OpResource || !o.Whole())
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
	// Offers are tools. All are sorted by public name, which for resources and
	// families is by URI.
	Offers, Resources, Templates, Prompts []*Offer

	byName map[string]slot
	moored map[string]mooring
	// families are in the order in which they are asked about a URI.
	families []slot
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
	news    *news
}

// New returns an empty registry.
func New() *Registry {
	r := &Registry{news: newNews()}
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
		return fmt.Sprintf("adapter %s declares two %ss whose public name is %s", e.Newcomer, e.kind(), e.Name)
	}
	return fmt.Sprintf("%s %s of adapter %s collides with that of adapter %s; give one of them another prefix",
		e.kind(), e.Name, e.Newcomer, e.Incumbent)
}

func (e *CollisionError) kind() string {
	if tool.OfAnotherKind(e.Name) {
		return "prompt"
	}
	return "tool"
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
	r.publish(&Snapshot{Version: old.Version + 1, moored: moored}, old)
	if !was || same {
		return closed(), nil
	}
	return before.berth.retire(), nil
}

// publish fills in what is derived and makes the snapshot the current one.
func (r *Registry) publish(s, old *Snapshot) {
	s.byName = map[string]slot{}
	for _, name := range slices.Sorted(maps.Keys(s.moored)) {
		for _, o := range s.moored[name].offers {
			s.add(o, s.moored[name].berth, old)
		}
	}
	for _, list := range [][]*Offer{s.Offers, s.Resources, s.Templates, s.Prompts} {
		slices.SortFunc(list, func(a, b *Offer) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	}
	for _, o := range s.Offers { // a name proper goes before an alias, and the first alias before later ones
		if _, taken := s.byName[o.Alias]; o.Alias != "" && !taken && !tool.OfAnotherKind(o.Alias) {
			s.byName[o.Alias] = slot{o, s.moored[o.Spec.Adapter].berth}
		}
	}
	s.orderFamilies()
	r.current.Store(s)
	fresh := make(chan struct{})
	close(*r.changed.Swap(&fresh))
}

// add puts an offer where it is found. A URI cannot be given a prefix, so two
// adapters may declare the same: the one that had it before keeps it.
func (s *Snapshot) add(o *Offer, b *berth, old *Snapshot) {
	name := o.Spec.Name
	if first, taken := s.byName[name]; taken {
		before, was := old.byName[name]
		if !was || before.offer.Spec.Adapter != o.Spec.Adapter {
			return
		}
		drop := func(list []*Offer) []*Offer {
			return slices.DeleteFunc(list, func(x *Offer) bool { return x == first.offer })
		}
		s.Resources, s.Templates = drop(s.Resources), drop(s.Templates)
	}
	s.byName[name] = slot{o, b}
	switch {
	case o.Family != nil:
		s.Templates = append(s.Templates, o)
	case o.Resource != nil:
		s.Resources = append(s.Resources, o)
	case o.Prompt != nil:
		s.Prompts = append(s.Prompts, o)
	default:
		s.Offers = append(s.Offers, o)
	}
}

// Shadowed returns the public names of what an adapter declares and another has.
func (s *Snapshot) Shadowed(adapter string) (names []string) {
	for _, o := range s.moored[adapter].offers {
		if s.byName[o.Spec.Name].offer != o {
			names = append(names, o.Spec.Name)
		}
	}
	return names
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
		if o.Resource != nil {
			continue // see Snapshot.add
		}
		if s, ok := old.byName[name]; ok && s.offer.Spec.Name == name && s.offer.Spec.Adapter != adapter {
			errs = append(errs, &CollisionError{name, s.offer.Spec.Adapter, adapter})
		}
	}
	return errors.Join(errs...)
}

// Acquire finds what has a public name, or a tool by its alias, and holds its
// runner until release is called, once. A resource that is not declared by itself
// is found in a family; the entry is then of that resource.
func (r *Registry) Acquire(name string) (e Entry, release func(), ok bool) {
	for {
		s, found := r.current.Load().lookup(name)
		if !found {
			return Entry{}, nil, false
		}
		if s.berth.hold() {
			return Entry{Offer: s.offer, Runner: s.berth.runner}, s.berth.release, true
		}
		// It was replaced in between; the newer snapshot is there already.
	}
}

// Find returns what has a public name or an alias without holding it.
func (s *Snapshot) Find(name string) (*Offer, bool) {
	found, ok := s.lookup(name)
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
