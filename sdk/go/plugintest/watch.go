// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
)

// news is what the plugin has said over Watch.
type news struct {
	once sync.Once

	mu      sync.Mutex
	catalog *pluginv1.Catalog
	updated map[string]int
	notes   []string
	more    chan struct{} // closed and replaced at each event
}

func newNews() *news { return &news{updated: map[string]int{}, more: make(chan struct{})} }

// follow begins to listen, once, and waits for the first catalogue.
func (n *news) follow(h *Host) {
	h.tb.Helper()
	n.once.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		stream, err := h.plugins.Watch(ctx, new(pluginv1.WatchRequest))
		if err != nil {
			cancel()
			h.tb.Fatalf("Watch: %v", err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				m, err := stream.Recv()
				if err != nil {
					if !errors.Is(err, io.EOF) && status.Code(err) != codes.Canceled && status.Code(err) != codes.Unavailable {
						h.tb.Errorf("Watch: %v", err)
					}
					return
				}
				n.hear(h, m)
			}
		}()
		h.tb.Cleanup(func() {
			cancel()
			<-ended
		})
	})
	n.wait(h, "a catalogue", func() bool { return n.catalog != nil })
}

func (n *news) hear(h *Host, m *pluginv1.WatchResponse) {
	h.tb.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := m.GetEvent().(type) {
	case *pluginv1.WatchResponse_Catalog:
		h.violated("Watch", ofCatalog(e.Catalog, h.about.GetFeatures(), h.limits))
		n.catalog = e.Catalog
	case *pluginv1.WatchResponse_ResourceUpdated:
		if n.catalog == nil {
			h.violated("Watch", []string{"the first event is not the catalogue"})
		}
		n.updated[e.ResourceUpdated.GetUri()]++
	case *pluginv1.WatchResponse_Note:
		n.notes = append(n.notes, e.Note.GetText())
	}
	close(n.more)
	n.more = make(chan struct{})
}

// wait waits until something holds; it is asked with the lock.
func (n *news) wait(h *Host, what string, is func() bool) {
	h.tb.Helper()
	late := time.After(patience)
	for {
		n.mu.Lock()
		ok, more := is(), n.more
		n.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-more:
		case <-late:
			h.tb.Fatalf("Watch: still waiting for %s", what)
		}
	}
}

// Catalog is the newest catalogue.
func (h *Host) Catalog() *pluginv1.Catalog {
	h.news.mu.Lock()
	defer h.news.mu.Unlock()
	return h.news.catalog
}

// WaitCatalog waits for a catalogue that is as wanted.
func (h *Host) WaitCatalog(what string, is func(*pluginv1.Catalog) bool) *pluginv1.Catalog {
	h.tb.Helper()
	h.news.wait(h, what, func() bool { return h.news.catalog != nil && is(h.news.catalog) })
	return h.Catalog()
}

// WaitTool waits until the catalogue has the tool.
func (h *Host) WaitTool(name string) *pluginv1.Tool {
	h.tb.Helper()
	return toolIn(h.WaitCatalog("the tool "+name, func(c *pluginv1.Catalog) bool { return toolIn(c, name) != nil }), name)
}

func toolIn(c *pluginv1.Catalog, name string) *pluginv1.Tool {
	for _, t := range c.GetTools() {
		if t.GetName() == name {
			return t
		}
	}
	return nil
}

// Subscribe asks to be told of changes of a resource.
func (h *Host) Subscribe(uri string) {
	h.tb.Helper()
	h.need(toolwharf.FeatureSubscriptions)
	if _, err := h.resources.SubscribeResource(h.tb.Context(), &pluginv1.SubscribeResourceRequest{Uri: uri}); err != nil {
		h.tb.Fatalf("SubscribeResource %s: %v", uri, err)
	}
}

// Unsubscribe ends that.
func (h *Host) Unsubscribe(uri string) {
	h.tb.Helper()
	h.need(toolwharf.FeatureSubscriptions)
	if _, err := h.resources.UnsubscribeResource(h.tb.Context(), &pluginv1.UnsubscribeResourceRequest{Uri: uri}); err != nil {
		h.tb.Fatalf("UnsubscribeResource %s: %v", uri, err)
	}
}

// WaitUpdate waits until the plugin has said that a resource has changed, and forgets
// that it has.
func (h *Host) WaitUpdate(uri string) {
	h.tb.Helper()
	h.news.wait(h, "a change of "+uri, func() bool {
		if h.news.updated[uri] == 0 {
			return false
		}
		delete(h.news.updated, uri)
		return true
	})
}

// Updates is how often the plugin has said that a resource has changed since the last
// [Host.WaitUpdate]. Several changes in a moment are one.
func (h *Host) Updates(uri string) int {
	h.news.mu.Lock()
	defer h.news.mu.Unlock()
	return h.news.updated[uri]
}

// WaitNote waits for a note to the operator that has the text in it.
func (h *Host) WaitNote(text string) {
	h.tb.Helper()
	h.news.wait(h, "a note with "+text, func() bool {
		for _, note := range h.news.notes {
			if strings.Contains(note, text) {
				return true
			}
		}
		return false
	})
}

// wait returns the first line with the text in it.
func (l *lines) wait(text string) (string, bool) {
	late := time.After(patience)
	for {
		l.mu.Lock()
		all, more := string(l.text), l.more
		l.mu.Unlock()
		for line := range strings.Lines(all) {
			if strings.Contains(line, text) {
				return strings.TrimSuffix(line, "\n"), true
			}
		}
		select {
		case <-more:
		case <-late:
			return "", false
		}
	}
}
