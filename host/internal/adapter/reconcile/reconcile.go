// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconcile brings what runs to what is desired: the configuration
// times what lies in the directories. It is the only place that starts and
// stops lives.
package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/adapter/life"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/secret"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Adapter is one adapter as configured.
type Adapter struct {
	Name, Plugin, Prefix string
	// Config is a JSON tree with references to secrets in its strings.
	Config any
	Env    map[string]string
	Limits adapter.Limits
	// MayAsk, AllowURLs and PassPrincipal are adapter.Desired's.
	MayAsk, AllowURLs, PassPrincipal bool
	// Sandbox is adapter.Desired's.
	Sandbox adapter.Sandbox
	// Terms are adapter.Desired's.
	Terms adapter.Terms
	// Locate is adapter.Desired's.
	Locate func(pointer string) string
}

// Wish is what the operator wants, as far as it may change while the host runs.
type Wish struct {
	Adapters []Adapter
	// Dirs are looked into in this order.
	Dirs []catalog.Directory
}

// Config is what a reconciler is made of.
type Config struct {
	// Wish holds until Want says otherwise.
	Wish

	// Dir is the working directory of plugins.
	Dir string
	// DropIn are the limits of plugins that nobody has configured.
	DropIn   adapter.Limits
	Secrets  secret.Source
	Launcher adapter.Launcher
	Registry life.Registry
	// Pins name what may run; nil: whatever lies in the directories.
	Pins Pins
	// Specs hold tools to what is known of them.
	Specs life.Specs
	// Key is what origins are keyed with.
	Key []byte
	// Pulse is each life's.
	Pulse life.Pulse
	// Tell hears of each adapter's secrets before it is started; may be nil.
	Tell func(adapter string, secrets []string)
	Log  hclog.Logger
}

// Pins name the hash that a program must have, or say why it may not run.
type Pins interface {
	// Fault is why the newest pins do not count; nil: they do.
	Fault() error
	Program(plugin string, folder bool) (hash tool.Digest, refused string)
}

const (
	// secretsAgain is how often a missing secret is looked for again.
	secretsAgain = 5 * time.Second
	// stopTime bounds the drain of everything at the end.
	stopTime = 15 * time.Second
)

// Reconciler is safe for concurrent use.
type Reconciler struct {
	config  Config
	schemas schema.Shared
	kick    chan struct{} // look again
	wishes  chan Wish     // the newest that Run has not seen
	looked  chan struct{} // closed once everything desired has a life
	once    sync.Once     // closes looked

	mu       sync.Mutex
	lives    map[string]*life.Life
	stopping map[string]*life.Life
	notes    []string
	told     map[string]secrets // by adapter
	unmet    bool               // the newest wish was not told to the lives yet
}

// New returns a reconciler that has not looked yet.
func New(c Config) *Reconciler {
	return &Reconciler{
		config: c, kick: make(chan struct{}, 1), wishes: make(chan Wish, 1), looked: make(chan struct{}),
		lives: map[string]*life.Life{}, stopping: map[string]*life.Life{}, told: map[string]secrets{},
	}
}

// Want puts another wish in the place of the one before. What both have alike
// goes on undisturbed; secrets are read again. One caller at a time. What has to
// change with it, such as the rules, changes in along, if not nil: whoever asks
// from then on what is behind is not answered before the wish is known.
func (r *Reconciler) Want(w Wish, along func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unmet = true
	if along != nil {
		along()
	}
	select {
	case <-r.wishes: // Run has not seen it and need not
	default:
	}
	r.wishes <- w // there is room
}

// Behind reports whether an adapter serves, or may serve, what is not wanted any
// more.
func (r *Reconciler) Behind(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unmet || r.stopping[name] != nil {
		return true
	}
	l := r.lives[name]
	if l == nil {
		return false
	}
	s, _ := l.Status()
	return s.Behind
}

// AnyBehind reports whether an adapter is behind.
func (r *Reconciler) AnyBehind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unmet || len(r.stopping) > 0 {
		return true
	}
	for _, l := range r.lives {
		if s, _ := l.Status(); s.Behind {
			return true
		}
	}
	return false
}

// Run reconciles until ctx ends, and then drains everything. It returns once
// nothing runs any more.
func (r *Reconciler) Run(ctx context.Context) error {
	contents, leave := r.look(ctx)
	defer func() { leave() }()
	var latest *catalog.Contents
	var again <-chan time.Time // set while a secret is missing
	moved := false             // what lies in the directories of the newest wish is not known yet
	for {
		select {
		case latest = <-contents:
			moved = false
		case w := <-r.wishes:
			others := !slices.Equal(w.Dirs, r.config.Dirs)
			r.config.Wish = w
			if others { // until they were looked into, what runs goes on
				moved = true
				leave()
				contents, leave = r.look(ctx)
				continue
			}
		case <-r.kick:
		case <-again:
		case <-ctx.Done():
			return r.stop(context.WithoutCancel(ctx))
		}
		if latest == nil {
			continue
		}
		again = nil
		if r.apply(latest) {
			again = time.After(secretsAgain)
		}
		r.meet(moved)
		r.once.Do(func() { close(r.looked) })
	}
}

// meet says that the newest wish was told to the lives, if it was.
func (r *Reconciler) meet(moved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !moved && len(r.wishes) == 0 {
		r.unmet = false
	}
}

// look begins to look into the directories.
func (r *Reconciler) look(ctx context.Context) (_ <-chan *catalog.Contents, leave func()) {
	ctx, leave = context.WithCancel(ctx)
	contents, dirs := make(chan *catalog.Contents), r.config.Dirs
	go func() {
		for c := range catalog.Changes(ctx, dirs, r.config.Log) {
			select {
			case contents <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	return contents, leave
}

// apply tells every life what is wanted of it, and reports whether one of them
// waits for a secret.
func (r *Reconciler) apply(c *catalog.Contents) (waitsForSecret bool) {
	desired, waiting, missing, notes := r.desire(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range notes {
		if !slices.Contains(r.notes, n) {
			r.config.Log.Warn("plugin directories", "note", n)
		}
	}
	r.notes = notes
	for name, l := range r.lives {
		if desired[name] == nil && waiting[name] == nil {
			delete(r.lives, name)
			r.stopping[name] = l
			go r.end(name, l)
		}
	}
	for name, d := range desired {
		if l := r.life(name); l != nil {
			l.Want(d)
		}
	}
	for name, w := range waiting {
		if l := r.life(name); l != nil {
			l.Wait(w.plugin, w.reason)
		}
	}
	return missing
}

// life returns the life of a name; nil while an earlier one of that name has
// not ended.
func (r *Reconciler) life(name string) *life.Life {
	if _, yet := r.stopping[name]; yet {
		return nil // end looks again
	}
	l := r.lives[name]
	if l == nil {
		l = life.New(life.Config{
			Name: name, Launcher: r.config.Launcher, Registry: r.config.Registry, Specs: r.config.Specs,
			Schemas: &r.schemas, Key: r.config.Key, Pulse: r.config.Pulse, Log: r.config.Log,
		})
		r.lives[name] = l
	}
	return l
}

// end stops a life that is not wanted any more, and looks again.
func (r *Reconciler) end(name string, l *life.Life) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := l.Stop(ctx); err != nil {
		r.config.Log.Error("adapter was not stopped", "adapter", name, "error", err)
	}
	<-l.Done()
	r.mu.Lock()
	delete(r.stopping, name)
	if r.lives[name] == nil {
		r.forget(name)
	}
	r.mu.Unlock()
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Review looks again at what is pinned and known: at programs, and at the tools
// of each adapter.
func (r *Reconciler) Review() {
	r.mu.Lock()
	for _, l := range r.lives {
		l.Review()
	}
	r.mu.Unlock()
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// stop ends every life.
func (r *Reconciler) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	r.mu.Lock()
	var all []*life.Life
	for _, l := range r.lives {
		all = append(all, l)
	}
	for _, l := range r.stopping {
		all = append(all, l)
	}
	r.mu.Unlock()
	errs := make(chan error, len(all))
	for _, l := range all {
		go func() { errs <- l.Stop(ctx) }()
	}
	var first error
	for range all {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Status is every adapter's, sorted by name.
func (r *Reconciler) Status() []adapter.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]adapter.Status, 0, len(r.lives))
	for _, l := range r.lives {
		s, _ := l.Status()
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b adapter.Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Restart restarts one adapter, as its life says. found is false if there is none of
// that name.
func (r *Reconciler) Restart(ctx context.Context, name string) (found bool, err error) {
	r.mu.Lock()
	l := r.lives[name]
	r.mu.Unlock()
	if l == nil {
		return false, nil
	}
	return true, l.Restart(ctx)
}

// Notes are what was left out of the directories, and why.
func (r *Reconciler) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// AwaitTried returns once each adapter's first start has come to an end,
// whatever end, or with ctx's error.
func (r *Reconciler) AwaitTried(ctx context.Context) error {
	select {
	case <-r.looked:
	case <-ctx.Done():
		return fmt.Errorf("looking for plugins: %w", ctx.Err())
	}
	for {
		untried, changed := r.untried()
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("adapter %s is still starting: %w", untried, ctx.Err())
		}
	}
}

// Tried reports whether AwaitTried would return at once.
func (r *Reconciler) Tried() bool {
	select {
	case <-r.looked:
	default:
		return false
	}
	_, changed := r.untried()
	return changed == nil
}

func (r *Reconciler) untried() (name string, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lives {
		if s, changed := l.Status(); !s.Tried {
			return s.Name, changed
		}
	}
	return "", nil
}
