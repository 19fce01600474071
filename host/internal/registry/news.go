// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// news is who wants to hear of which resources, and what there is to tell.
type news struct {
	mu      sync.Mutex
	wanted  map[string]int // how many want to hear of a URI
	changed chan struct{}  // closed at the next change of wanted
	readers map[*reader]bool
}

// reader is one who tells others.
type reader struct {
	updated map[string]bool // URIs, no more than are wanted
	wake    chan struct{}   // holds one
}

func newNews() *news {
	return &news{wanted: map[string]int{}, changed: make(chan struct{}), readers: map[*reader]bool{}}
}

// announce wakes those who wait for a change of wanted; n.mu is held.
func (n *news) announce() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// Subscribe says that somebody wants to hear when the content of a resource
// changes, until release is called, once. Who may is not judged here.
func (r *Registry) Subscribe(uri string) (release func()) {
	n := r.news
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wanted[uri]++; n.wanted[uri] == 1 {
		n.announce()
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.wanted[uri]--; n.wanted[uri] == 0 {
			delete(n.wanted, uri)
			n.announce()
		}
	}
}

// Updated is what an adapter says of a resource's content. What is not the
// adapter's, or that nobody wants to hear of, is dropped.
func (r *Registry) Updated(adapter, uri string) {
	o, ok := r.Snapshot().Find(tool.ResourceName(uri))
	if !ok || o.Spec.Adapter != adapter {
		return
	}
	n := r.news
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wanted[uri] == 0 {
		return
	}
	for reader := range n.readers {
		reader.updated[uri] = true
		select {
		case reader.wake <- struct{}{}:
		default:
		}
	}
}

// Updates yields resources whose content has changed since, sorted, until ctx
// ends. Changes that come while the loop's body runs are seen as one.
func (r *Registry) Updates(ctx context.Context) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		n, me := r.news, &reader{updated: map[string]bool{}, wake: make(chan struct{}, 1)}
		n.mu.Lock()
		n.readers[me] = true
		n.mu.Unlock()
		defer func() {
			n.mu.Lock()
			delete(n.readers, me)
			n.mu.Unlock()
		}()
		for {
			select {
			case <-me.wake:
			case <-ctx.Done():
				return
			}
			n.mu.Lock()
			uris := slices.Sorted(maps.Keys(me.updated))
			clear(me.updated)
			n.mu.Unlock()
			if len(uris) > 0 && !yield(uris) {
				return
			}
		}
	}
}

// Wanted yields which resources of an adapter somebody wants to hear of, sorted,
// and again after each change, until ctx ends.
func (r *Registry) Wanted(ctx context.Context, adapter string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		last := []string{}
		for {
			catalogue := *r.changed.Load()
			r.news.mu.Lock()
			uris, changed := slices.Sorted(maps.Keys(r.news.wanted)), r.news.changed
			r.news.mu.Unlock()
			snapshot := r.Snapshot()
			uris = slices.DeleteFunc(uris, func(uri string) bool {
				o, ok := snapshot.Find(tool.ResourceName(uri))
				return !ok || o.Spec.Adapter != adapter
			})
			if !slices.Equal(uris, last) {
				if last = uris; !yield(uris) {
					return
				}
			}
			select {
			case <-catalogue:
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}
