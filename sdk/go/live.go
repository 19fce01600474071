// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
)

// Catalog is what a plugin offers under one configuration: what was added before
// [Plugin.Serve], as [Catalog.Change] has left it. It may be kept as long as the
// state that it was opened with; once that has been replaced, it changes nothing
// that anybody sees.
type Catalog[S any] struct{ live *live }

// live is a catalogue that may change.
type live struct {
	core    *core
	watched *watched
	limits  Limits

	changing sync.Mutex
	now      atomic.Pointer[catalogue]
	serving  atomic.Bool // it is that of the moment
}

func newLive(c *core, w *watched) *live {
	l := &live{core: c, watched: w}
	l.now.Store(c.base)
	return l
}

type liveKey struct{}

// CatalogOf returns what the plugin offers, in the function that opens the state and
// in handlers. Nil elsewhere: what it is asked to change then is an error.
func CatalogOf[S any](ctx context.Context) *Catalog[S] {
	if r, ok := ctx.Value(callKey{}).(*running); ok {
		return &Catalog[S]{r.live}
	}
	if l, ok := ctx.Value(liveKey{}).(*live); ok {
		return &Catalog[S]{l}
	}
	return nil
}

// Changes are what one [Catalog.Change] makes: add to them as to a [Plugin].
type Changes[S any] struct {
	changes registry
}

func (c *Changes[S]) registry(*S) *registry { return &c.changes }

// RemoveTool takes a tool away. Calls that run go on.
func (c *Changes[S]) RemoveTool(name string) {
	into := c.changes.into
	take(&c.changes, "tool", &into.tools, into.tool, name)
}

// RemoveResource takes the resource of a fixed URI away.
func (c *Changes[S]) RemoveResource(uri string) {
	into := c.changes.into
	take(&c.changes, "resource", &into.resources, into.resource, uri)
}

// RemoveTemplate takes a family of resources away.
func (c *Changes[S]) RemoveTemplate(template string) {
	into := c.changes.into
	take(&c.changes, "template", &into.templates, into.template, template)
}

// RemovePrompt takes a prompt away.
func (c *Changes[S]) RemovePrompt(name string) {
	into := c.changes.into
	take(&c.changes, "prompt", &into.prompts, into.prompt, name)
}

// take takes one thing of a kind away, or says that there is none.
func take[T any](from *registry, kind string, list *[]*T, index map[string]*T, key string) {
	gone, ok := index[key]
	if !ok {
		from.fault("%s %.128q: there is none to remove", kind, key)
		return
	}
	delete(index, key)
	*list = slices.DeleteFunc(*list, func(x *T) bool { return x == gone })
}

// Change adds and removes what make says, all of it or, with an error that names
// every fault, nothing:
//
//	err := toolwharf.CatalogOf[DB](ctx).Change(func(c *toolwharf.Changes[DB]) {
//		toolwharf.AddTool(c, "orders", (*DB).Orders, toolwharf.ReadOnly())
//	})
//
// While the state is being opened, that is what the configuration offers from its
// first moment on; later, hosts are told, a few times a second at most. A feature
// that the plugin does not have without the change is named by [Offers]. Edit runs
// while no other change does, and must not call Change.
func (c *Catalog[S]) Change(edit func(*Changes[S])) error {
	if c == nil || c.live == nil {
		return errors.New("changing what the plugin offers: it is not being opened, and this is no call")
	}
	return c.live.change(reflect.TypeFor[S](), func(r *registry) {
		changes := &Changes[S]{changes: *r}
		edit(changes)
		*r = changes.changes
	})
}

func (l *live) change(state reflect.Type, edit func(*registry)) error {
	if state != l.core.state {
		return fmt.Errorf("changing what the plugin offers: its state is a %v and not a %v", l.core.state, state)
	}
	l.changing.Lock()
	defer l.changing.Unlock()
	r := &registry{into: l.now.Load().clone()}
	edit(r)
	needs := r.into.features()
	for _, f := range changeable {
		if needs[f] && !l.core.has(f) {
			r.fault("the plugin has not said that it may have the feature %s: name it in Offers", f)
		}
	}
	if err := r.into.within(l.limits); err != nil {
		r.faults = append(r.faults, err)
	}
	if err := errors.Join(r.faults...); err != nil {
		return err
	}
	l.now.Store(r.into)
	if l.serving.Load() {
		l.watched.wake()
	}
	return nil
}

// ResourceUpdated tells the clients that have subscribed to a resource that its
// content has changed; all others are spared. It may be called as often as the
// content changes: several changes in a moment are told as one.
func (c *Catalog[S]) ResourceUpdated(uri string) {
	if c != nil && c.live != nil && c.live.serving.Load() {
		c.live.watched.updated(uri)
	}
}

// Warn tells the operator something that is worth knowing as long as this
// configuration serves; `adapters show` has the latest. Never a secret.
func (c *Catalog[S]) Warn(text string) {
	if c != nil && c.live != nil {
		c.live.watched.warn(cut(text, maxErrorText))
	}
}
