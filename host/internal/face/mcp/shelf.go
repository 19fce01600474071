// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"log/slog"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/toolwharf/toolwharf/host/internal/registry"
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
	// tools are sorted by name.
	tools []*listing
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
	c := &catalogue{
		snapshot: snapshot,
		tools:    make([]*listing, 0, len(snapshot.Offers)),
		of:       make(map[*registry.Offer]*listing, len(snapshot.Offers)),
	}
	for _, o := range snapshot.Offers {
		l := s.listing(old, o)
		c.of[o] = l
		if l != nil {
			c.tools = append(c.tools, l)
		}
	}
	s.current.Store(c)
	return c
}

func (s *shelf) listing(old *catalogue, o *registry.Offer) *listing {
	if old != nil {
		if l, ok := old.of[o]; ok {
			return l
		}
	}
	l, err := listingOf(&o.Spec)
	if err != nil {
		s.log.Error("tool not shown to MCP clients", "tool", o.Spec.Name, "adapter", o.Spec.Adapter, "error", err)
		return nil
	}
	return l
}

// after returns the tools that come after a name.
func (c *catalogue) after(name string) []*listing {
	return c.tools[sort.Search(len(c.tools), func(i int) bool { return c.tools[i].name > name }):]
}

// find returns a tool by its public name or its alias, nil if there is none or it
// is not shown.
func (c *catalogue) find(name string) *listing {
	o, ok := c.snapshot.Find(name)
	if !ok {
		return nil
	}
	return c.of[o]
}
