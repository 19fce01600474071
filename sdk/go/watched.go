// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

const (
	// watchEvery is the least time between two rounds of news to one host.
	watchEvery = 100 * time.Millisecond
	// maxSubscriptions bounds the URIs that a host has subscribed to.
	maxSubscriptions = 10_000
	// maxWarnings bounds the warnings that no host has heard yet.
	maxWarnings = 32
)

// watched is what hosts hear of between calls. The zero value has no listeners.
type watched struct {
	mu         sync.Mutex
	listeners  map[*listener]struct{}
	subscribed map[string]struct{}
	warnings   []string // unheard
}

// listener is one Watch stream.
type listener struct {
	news    chan struct{} // there is something
	updated map[string]struct{}
	order   []string // of updated
}

func (w *watched) listen() *listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners == nil {
		w.listeners = map[*listener]struct{}{}
	}
	l := &listener{news: make(chan struct{}, 1), updated: map[string]struct{}{}}
	w.listeners[l] = struct{}{}
	return l
}

func (w *watched) leave(l *listener) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.listeners, l)
}

// wake makes every listener look at the catalogue.
func (w *watched) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.listeners {
		l.wake()
	}
}

func (l *listener) wake() {
	select {
	case l.news <- struct{}{}:
	default: // it has not looked since
	}
}

// updated is bounded by the subscriptions.
func (w *watched) updated(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.subscribed[uri]; !ok {
		return
	}
	for l := range w.listeners {
		if _, known := l.updated[uri]; !known {
			l.updated[uri] = struct{}{}
			l.order = append(l.order, uri)
			l.wake()
		}
	}
}

func (w *watched) warn(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.warnings = append(w.warnings, text); len(w.warnings) > maxWarnings {
		w.warnings = w.warnings[1:]
	}
	for l := range w.listeners {
		l.wake()
	}
}

// take returns the news but for the catalogue.
func (w *watched) take(l *listener) (updated, warnings []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	updated, l.order = l.order, nil
	clear(l.updated)
	warnings, w.warnings = w.warnings, nil
	return updated, warnings
}

func (w *watched) subscribe(uri string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.subscribed == nil {
		w.subscribed = map[string]struct{}{}
	}
	if _, ok := w.subscribed[uri]; !ok && len(w.subscribed) >= maxSubscriptions {
		return status.Errorf(codes.ResourceExhausted, "more than %d subscriptions", maxSubscriptions)
	}
	w.subscribed[uri] = struct{}{}
	return nil
}

func (w *watched) unsubscribe(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.subscribed, uri)
}

type watchStream = grpc.ServerStreamingServer[pluginv1.WatchResponse]

// Watch sends the catalogue, again after each change, and what else there is to
// hear. It stays open although nothing may ever change: a host that sees the stream
// end need not wonder why.
func (s *pluginService) Watch(_ *pluginv1.WatchRequest, stream watchStream) error {
	if s.sessions.now() == nil {
		return status.Error(codes.FailedPrecondition, "Watch before Configure has succeeded")
	}
	l := s.watched.listen()
	defer s.watched.leave(l)
	var last *pluginv1.Catalog
	for {
		var err error
		if last, err = s.news(l, last, stream); err != nil {
			return err
		}
		// What comes in the meantime is told at once afterwards.
		wait := time.NewTimer(watchEvery)
		for news, pause := (<-chan struct{})(nil), wait.C; ; {
			select {
			case <-stream.Context().Done():
				wait.Stop()
				return stream.Context().Err()
			case <-s.stopping:
				wait.Stop()
				return nil
			case <-pause:
				news, pause = l.news, nil
				// The start is over. Most plugins are idle for most of the time:
				// what it has left behind is given back.
				s.started.Do(debug.FreeOSMemory)
				continue
			case <-news:
			}
			break
		}
	}
}

// news sends what a listener has not heard yet, and returns the catalogue that it
// now knows.
func (s *pluginService) news(l *listener, last *pluginv1.Catalog, stream watchStream) (*pluginv1.Catalog, error) {
	if now := s.sessions.now(); now != nil {
		if c := now.live.now.Load().wire(); last == nil || !proto.Equal(c, last) {
			last = c
			if err := stream.Send(&pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Catalog{Catalog: c}}); err != nil {
				return nil, err
			}
		}
	}
	updated, warnings := s.watched.take(l)
	for _, uri := range updated {
		event := &pluginv1.WatchResponse_ResourceUpdated{ResourceUpdated: &pluginv1.ResourceUpdated{Uri: uri}}
		if err := stream.Send(&pluginv1.WatchResponse{Event: event}); err != nil {
			return nil, err
		}
	}
	for _, text := range warnings {
		event := &pluginv1.WatchResponse_Note{Note: &pluginv1.Note{Severity: pluginv1.Severity_SEVERITY_WARNING, Text: text}}
		if err := stream.Send(&pluginv1.WatchResponse{Event: event}); err != nil {
			return nil, err
		}
	}
	return last, nil
}
