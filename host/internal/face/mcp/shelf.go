// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"log/slog"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// shelf keeps the catalogue as clients see it. A tool is encoded when it is
// first asked for and again only when its adapter has declared it anew.
type shelf struct {
	registry Registry
	log      *slog.Logger

	mu      sync.Mutex // serialises building
	current atomic.Pointer[catalogue]
}

// catalogue is one snapshot as clients see it. It is immutable.
type catalogue struct {
	snapshot *registry.Snapshot
	// lists are sorted by name, which for resources and templates is the URI.
	lists [kinds][]*listing
	// of has every offer of the snapshot; those that cannot be shown have no
	// listing.
	of map[*registry.Offer]*listing
}

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
	c := &catalogue{snapshot: snapshot, of: make(map[*registry.Offer]*listing, len(snapshot.Offers))}
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

// after returns the items that come after a name.
func after(items []*listing, name string) []*listing {
	return items[sort.Search(len(items), func(i int) bool { return items[i].name > name }):]
}

// find returns a tool by its public name or its alias, nil if there is none or it
// is not shown.
func (c *catalogue) find(name string) *listing {
	o, ok := c.snapshot.Find(name)
	if !ok || !o.Spec.Serves(tool.OpTool) {
		return nil
	}
	return c.of[o]
}
