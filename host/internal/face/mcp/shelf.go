// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"log/slog"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// shelf keeps the catalogue as clients see it. A tool is encoded when it is
// first asked for and again only when its adapter has declared it anew.
type shelf struct {
	registry Registry
	policy   func() *executor.Policy
	log      *slog.Logger

	mu      sync.Mutex // serialises building
	current atomic.Pointer[catalogue]
}

// catalogue is one snapshot as clients see it. Nothing of it changes but what is
// remembered of principals.
type catalogue struct {
	snapshot *registry.Snapshot
	policy   func() *executor.Policy
	// lists, whoever may know of what is in them, are sorted by name, which for resources and templates is the URI.
	lists [kinds][]*listing
	// of has every offer of the snapshot; those that cannot be shown have no
	// listing.
	of map[*registry.Offer]*listing

	mu    sync.Mutex
	under *executor.Policy // what views is of
	views map[string]*view // by what rules can tell apart (tool.Principal.Standing)
	held  int              // listings in views that lists do not have anyway
}

// view is the lists of one principal.
type view [kinds][]*listing

// Bounds of what a catalogue remembers of principals. When there is too much,
// all is forgotten, and each of them asked about again.
const (
	maxViews  = 256
	maxViewed = 1 << 20 // listings of all together: 8 MiB
)

// now returns the catalogue of now.
func (s *shelf) now() *catalogue {
	snapshot := s.registry.Snapshot()
	if c := s.current.Load(); c != nil && c.snapshot == snapshot {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current.Load()
	if old != nil && old.snapshot == snapshot {
		return old
	}
	c := &catalogue{snapshot: snapshot, policy: s.policy, of: make(map[*registry.Offer]*listing, len(snapshot.Offers))}
	for k, offers := range [kinds][]*registry.Offer{snapshot.Offers, snapshot.Resources, snapshot.Templates, snapshot.Prompts} {
		c.lists[k] = make([]*listing, 0, len(offers))
		for _, o := range offers {
			l := s.listing(old, kind(k), o)
			c.of[o] = l
			if l != nil {
				c.lists[k] = append(c.lists[k], l)
			}
		}
	}
	s.current.Store(c)
	return c
}

func (s *shelf) listing(old *catalogue, k kind, o *registry.Offer) *listing {
	if old != nil {
		if l, ok := old.of[o]; ok {
			return l
		}
	}
	l, err := listingOf(k, o)
	if err != nil {
		s.log.Error("not shown to MCP clients", "name", o.Spec.Name, "adapter", o.Spec.Adapter, "error", err)
		return nil
	}
	return l
}

// seenBy returns what a principal may know of, sorted by name. It is not to be
// changed.
func (c *catalogue) seenBy(p tool.Principal) *view {
	policy := c.policy()
	if !settled(policy) {
		v, _ := c.view(policy, p)
		return v
	}
	standing := p.Standing()
	c.mu.Lock()
	v, ok := c.views[standing]
	ok = ok && c.under == policy
	c.mu.Unlock()
	if ok {
		return v
	}
	v, own := c.view(policy, p)
	if settled(policy) {
		c.remember(policy, standing, v, own)
	}
	return v
}

func settled(p *executor.Policy) bool { return p.Settled == nil || p.Settled() }

// remember keeps a view that has so many listings of its own.
func (c *catalogue) remember(policy *executor.Policy, standing string, v *view, own int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under != policy || len(c.views) >= maxViews || c.held+own > maxViewed {
		c.under, c.views, c.held = policy, map[string]*view{}, 0
	}
	if _, ok := c.views[standing]; !ok {
		c.views[standing] = v
		c.held += own
	}
}

func (c *catalogue) view(policy *executor.Policy, p tool.Principal) (v *view, own int) {
	v = &view{}
	s := c.snapshot
	for k, offers := range [kinds][]*registry.Offer{s.Offers, s.Resources, s.Templates, s.Prompts} {
		for _, o := range offers {
			if l := c.of[o]; l != nil && policy.Sees(p, &o.Spec) {
				v[k] = append(v[k], l)
			}
		}
		if len(v[k]) == len(c.lists[k]) {
			v[k] = c.lists[k]
		} else {
			own += len(v[k])
		}
	}
	return v, own
}

// after returns the items that come after a name.
func after(items []*listing, name string) []*listing {
	return items[sort.Search(len(items), func(i int) bool { return items[i].name > name }):]
}

// find returns a tool by its public name or its alias, nil if there is none, it
// is not shown, or a principal may not know of it.
func (c *catalogue) find(name string, p tool.Principal) *listing {
	o, ok := c.snapshot.Find(name)
	if !ok || !o.Spec.Serves(tool.OpTool) || !c.policy().Sees(p, &o.Spec) {
		return nil
	}
	return c.of[o]
}
