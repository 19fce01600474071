// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// drainTime is how long a call may hold an instance that is not wanted any
// more, beyond the adapter's own timeout; drainGrace how long the instance may
// then take to end.
const (
	drainTime  = 5 * time.Second
	drainGrace = 3 * time.Second
)

// A catalogue may change so many times at once, and then once in so long.
const (
	changesAtOnce = 20
	changeEvery   = time.Second
)

// running is one instance that serves, or has served.
type running struct {
	life     *Life
	desired  *adapter.Desired
	digest   tool.Digest
	instance adapter.Instance
	updates  chan update
	ill      chan error
	illness  error              // why it was ended; the machine's
	cancel   context.CancelFunc // ends the watch and the pulse
	since    time.Time
	specs    map[tool.Digest]bool // of what it offers; guarded by life.mu
	newest   adapter.Catalog      // as it came
	retired  <-chan struct{}      // of what it replaced
	terms    []adapter.Terms      // that it is held to, the newest first; the machine's, as are the next two
	own      adapter.Terms        // the newest that were wanted of it, and not of what is to take its place
	heeded   heeded
	under    tool.Digest // the newest that it is offered under; guarded by life.mu
	// guests are calls that came over from a dead instance: what they hold in
	// the registry is that one, and not this. One is added only while this is
	// life.current, with life.mu held.
	guests sync.WaitGroup
}

// heeded is what was wanted when the terms of an instance were looked at last.
type heeded struct {
	terms tool.Digest
	own   bool
}

// update is the next catalogue, or why there will be none.
type update struct {
	catalog adapter.Catalog
	err     error
}

func (r *running) ended() bool {
	select {
	case <-r.instance.Done():
		return true
	default:
		return false
	}
}

// started is what came of a start: an instance with its first catalogue.
type started struct {
	*running

	catalog  adapter.Catalog
	watching context.Context //nolint:containedctx // ends with the watch of the instance
	began    time.Time
	err      error
}

// start launches and configures what is wanted, and waits for its first
// catalogue. Nothing of it is offered yet.
func (l *Life) start(w wanted) (s started) {
	d := w.desired
	ctx, cancel := context.WithTimeout(context.Background(), d.Limits.StartTimeout)
	defer cancel()
	abandon := l.abandonWhenStopped(cancel)
	defer abandon()
	s.began = time.Now()
	instance, err := l.config.Launcher.Start(ctx, d)
	if err != nil {
		s.err = err
		return s
	}
	watch, stop := context.WithCancel(context.Background())
	s.running = &running{
		life: l, desired: d, digest: w.digest, instance: instance,
		updates: make(chan update), ill: make(chan error), cancel: stop, since: time.Now(),
		terms: []adapter.Terms{d.Terms}, own: d.Terms, heeded: heeded{w.terms, true},
	}
	go s.watch(watch)
	if s.catalog, s.err = s.first(ctx); s.err != nil {
		l.end(s.running)
		return s
	}
	go s.beat(watch, l.config.Pulse)
	s.watching = watch
	return s
}

// succeed offers what was started in the place of the old one, and drains that.
func (l *Life) succeed(s started, old *running) error {
	if err := l.offer(s.running, s.catalog); err != nil {
		l.discard(s.running)
		return err
	}
	go s.heed(s.watching)
	l.config.Log.Info("adapter is ready", "adapter", l.config.Name, "plugin", s.desired.Program.Plugin,
		"pid", s.instance.About().PID, "offers", len(s.specs), "sandbox", s.instance.About().Sandbox,
		"reaches", s.instance.About().Reach, "took", time.Since(s.began).Round(time.Millisecond))
	if old != nil {
		l.retire(old, s.retired)
	}
	return nil
}

// abandonWhenStopped ends a start that is not wanted any more.
func (l *Life) abandonWhenStopped(cancel func()) (done func()) {
	over := make(chan struct{})
	go func() {
		for {
			l.mu.Lock()
			stop, changed := l.wanted.stop, l.changed
			l.mu.Unlock()
			if stop {
				cancel()
				return
			}
			select {
			case <-over:
				return
			case <-changed:
			}
		}
	}()
	return func() { close(over) }
}

// watch hands on each catalogue until ctx ends. A stream that breaks off while the
// instance lives is opened again, after pauses that grow as long as no stream lasts.
func (r *running) watch(ctx context.Context) {
	pauses, pace := newPauses(), rate.NewLimiter(rate.Every(changeEvery), changesAtOnce)
	for {
		opened := time.Now()
		if !r.follow(ctx, pace) || ctx.Err() != nil {
			return
		}
		if time.Since(opened) > slowest {
			pauses.Reset()
		}
		select {
		case <-time.After(pauses.NextBackOff()):
		case <-r.instance.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// heed tells the instance of which resources somebody wants to hear, until ctx
// ends.
func (r *running) heed(ctx context.Context) {
	for uris := range r.life.config.Registry.Wanted(ctx, r.life.config.Name) {
		r.instance.Heed(ctx, uris)
	}
}

// follow hands on the catalogues of one stream, and reports whether it broke off:
// one that ends otherwise has nothing more to say. What changes faster than pace
// is not read, so that a plugin cannot keep the host, and every client that is
// told of changes, at work.
func (r *running) follow(ctx context.Context, pace *rate.Limiter) (broke bool) {
	var told sync.Once
	for c, err := range r.instance.Catalogs(ctx) {
		broke = err != nil
		select {
		case r.updates <- update{c, err}:
		case <-ctx.Done():
			return false
		}
		if pace.Allow() {
			continue
		}
		told.Do(func() {
			r.life.config.Log.Warn("adapter changes its catalogue too often, it is not followed faster", "adapter", r.desired.Name, "every", changeEvery)
		})
		if pace.Wait(ctx) != nil {
			return false
		}
	}
	return broke
}

// first waits for the first catalogue.
func (r *running) first(ctx context.Context) (adapter.Catalog, error) {
	fail := func(reason string, err error) error {
		return &adapter.StartError{Phase: adapter.PhaseCatalog, Reason: reason, Ended: r.ended(), Err: err}
	}
	select {
	case u := <-r.updates:
		if u.err != nil {
			return u.catalog, fail(u.err.Error(), u.err)
		}
		return u.catalog, nil
	case <-r.instance.Done():
		return adapter.Catalog{}, fail("it ended before it gave its catalogue: "+r.instance.Ended().Error(), nil)
	case <-ctx.Done():
		return adapter.Catalog{}, fail("no catalogue in time", ctx.Err())
	}
}

// offer puts a catalogue into the registry.
func (l *Life) offer(r *running, c adapter.Catalog) error {
	fit, err := l.review(c)
	if err != nil {
		return &adapter.StartError{Phase: adapter.PhaseCatalog, Reason: err.Error(), Err: err}
	}
	tools, vain := adapter.Hold(fit.Tools, r.terms...)
	fit.Tools, fit.Notes = tools, append(vain, fit.Notes...)
	offers, notes := adapter.Offers(r.desired, fit, r.desired.Origin(l.config.Key, r.instance.About().Program), l.config.Schemas)
	specs := make(map[tool.Digest]bool, len(offers))
	served := 0
	for _, o := range offers {
		specs[o.Spec.Digest] = true
		if o.Spec.Serves(tool.OpTool) {
			served++
		}
	}
	// Calls that were waiting are let go only when they can find it.
	retired, err := l.config.Registry.Replace(l.config.Name, r, offers)
	if err != nil {
		if _, ok := errors.AsType[*registry.CollisionError](err); ok {
			return &adapter.StartError{Phase: adapter.PhaseCatalog, Reason: err.Error(), Err: err}
		}
		return err
	}
	for _, name := range l.config.Registry.Snapshot().Shadowed(l.config.Name) {
		notes = append(notes, fmt.Sprintf("%s is left out: another adapter has it", name))
	}
	for _, n := range notes {
		l.config.Log.Warn("adapter's catalogue", "adapter", l.config.Name, "note", n)
	}
	about := r.instance.About()
	l.update(func(s *adapter.Status) {
		r.specs, r.newest, r.retired, r.under, l.current = specs, c, retired, r.terms[0].Digest(), r
		s.State, s.Tools, s.Cause, s.Retry, s.Tried = adapter.Ready, served, "", nil, true
		s.PID, s.Version, s.Sandbox, s.Reach = about.PID, about.Version, cmp.Or(about.Sandbox, unconfined), about.Reach
		s.Memory = about.Memory
		s.Notes = append(append([]string(nil), about.Notes...), notes...)
	})
	return nil
}

// review takes out of a catalogue what may not be offered, or not as it is.
func (l *Life) review(c adapter.Catalog) (adapter.Catalog, error) {
	if l.config.Specs == nil {
		return c, nil
	}
	fit, held, err := l.config.Specs.Review(l.config.Name, c.Tools)
	c.Tools, c.Notes = fit, append(held, c.Notes...)
	return c, err
}

// refresh offers a changed catalogue. One that cannot be offered leaves the one
// before in place.
func (l *Life) refresh(r *running, u update) (taken bool) {
	err := u.err
	if err == nil {
		err = l.offer(r, u.catalog)
	}
	if err == nil || r.ended() {
		return err == nil
	}
	l.config.Log.Error("adapter's catalogue was not taken", "adapter", l.config.Name, "error", err)
	l.update(func(s *adapter.Status) { s.Cause = "its newest catalogue was not taken: " + err.Error() })
	return false
}

// accede holds what serves to the terms that are wanted. As long as something else
// is to take its place, they may have been written for that: then its own hold
// beside them.
func (l *Life) accede(r *running, w wanted) {
	h := heeded{w.terms, r.digest == w.digest}
	if h == r.heeded {
		return
	}
	r.heeded = h
	before, terms := r.terms, []adapter.Terms{w.desired.Terms}
	if h.own {
		r.own = w.desired.Terms
	} else {
		terms = append(terms, r.own)
	}
	status, _ := l.Status()
	r.terms = terms
	if !l.refresh(r, update{catalog: r.newest}) { // a tool that comes with them is another's: none may come
		r.terms = slices.Concat(terms, before)
		l.refresh(r, update{catalog: r.newest})
	}
	if !h.own { // why it serves on is still to be said
		l.update(func(s *adapter.Status) { s.Cause, s.Retry = status.Cause, status.Retry })
	}
}

// crashed says that an instance ended by itself.
func (l *Life) crashed(r *running) {
	said := "it ended by itself: "
	reason := r.instance.Ended()
	if r.illness != nil {
		said, reason = "it was ended: ", r.illness
	}
	l.config.Log.Error("adapter has ended", "adapter", l.config.Name, "pid", r.instance.About().PID, "reason", reason)
	l.update(func(s *adapter.Status) {
		s.State, s.PID = adapter.Starting, 0
		s.Crashes++
		s.Cause = said + reason.Error()
	})
}

// retire drains what is not wanted any more, once no call holds it.
func (l *Life) retire(r *running, free <-chan struct{}) {
	r.cancel()
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		<-free
		r.guests.Wait()
	}()
	l.drains.Go(func() {
		patience := time.NewTimer(r.desired.Limits.Timeout + drainTime)
		defer patience.Stop()
		select {
		case <-quiet:
		case <-r.instance.Done():
		case <-patience.C:
			l.config.Log.Warn("calls hold on to an adapter that is drained", "adapter", l.config.Name)
		}
		l.end(r)
	})
}

// end ends an instance.
func (l *Life) end(r *running) {
	r.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), drainGrace)
	defer cancel()
	if err := r.instance.Drain(ctx); err != nil {
		l.config.Log.Error("adapter was not ended", "adapter", l.config.Name, "error", err)
	}
}

// discard ends what nobody holds: one that is dead, or that was never offered.
func (l *Life) discard(r *running) { l.drains.Go(func() { l.end(r) }) }

// leave takes the adapter out of the registry and drains what runs.
func (l *Life) leave(r *running, state adapter.State, cause string) {
	l.mu.Lock()
	offered := l.current != nil
	l.current = nil // no call comes over any more
	l.mu.Unlock()
	if r != nil {
		l.update(func(s *adapter.Status) { s.State = adapter.Draining })
	}
	if offered {
		free, err := l.config.Registry.Replace(l.config.Name, nil, nil)
		if err != nil {
			l.config.Log.Error("adapter not taken from the registry", "adapter", l.config.Name, "error", err)
		}
		if r != nil {
			l.retire(r, free)
		}
	}
	if state == adapter.Stopped {
		return // once the drains are over
	}
	l.update(func(s *adapter.Status) {
		s.State, s.Cause, s.Tools, s.PID, s.Tried, s.Retry, s.Notes = state, cause, 0, 0, true, nil, nil
		s.Sandbox, s.Reach, s.Memory = unconfined, nil, ""
	})
}
