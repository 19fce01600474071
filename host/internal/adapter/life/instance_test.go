// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// instance is one that a test plays.
type instance struct {
	desired  *adapter.Desired
	pid      int
	catalogs chan adapter.Catalog
	done     chan struct{}
	once     sync.Once

	mu      sync.Mutex
	run     func(context.Context, *tool.Attempt) (tool.Outcome, error)
	ended   error
	drained int
	opened  int      // streams of catalogues
	asked   int      // for its health
	illness error    // what it answers; errHangs: nothing
	slow    bool     // to end: only when the context of Drain does
	heeded  []string // of Heed
}

// Heed keeps what it is told.
func (i *instance) Heed(_ context.Context, uris []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.heeded = uris
}

func (i *instance) heeds() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.heeded
}

var _ adapter.Instance = (*instance)(nil)

// newInstance is an instance that offers tools and answers each call with its
// own process id.
func newInstance(tools ...string) *instance {
	in := &instance{catalogs: make(chan adapter.Catalog, 10), done: make(chan struct{})}
	in.catalogs <- offering(tools...)
	return in
}

// silent is an instance without a catalogue.
func silent() *instance {
	return &instance{catalogs: make(chan adapter.Catalog, 10), done: make(chan struct{})}
}

func offering(tools ...string) adapter.Catalog {
	var c adapter.Catalog
	for _, t := range tools {
		c.Tools = append(c.Tools, tool.Spec{Declared: t, Effects: tool.ReadOnly})
	}
	return c
}

func (i *instance) Run(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
	i.mu.Lock()
	run := i.run
	i.mu.Unlock()
	if run != nil {
		return run(ctx, a)
	}
	return i.answer(a), nil
}

// answer says which instance answers, and at which attempt.
func (i *instance) answer(a *tool.Attempt) *tool.Result {
	return &tool.Result{Content: []tool.Content{&tool.Text{Text: fmt.Sprintf("process %d, attempt %d", i.pid, a.N)}}}
}

func (i *instance) will(run func(context.Context, *tool.Attempt) (tool.Outcome, error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.run = run
}

func (i *instance) Catalogs(ctx context.Context) iter.Seq2[adapter.Catalog, error] {
	return func(yield func(adapter.Catalog, error) bool) {
		i.mu.Lock()
		catalogs := i.catalogs
		i.opened++
		i.mu.Unlock()
		for {
			select {
			case c, open := <-catalogs:
				if !open {
					yield(adapter.Catalog{}, errors.New("the stream broke off"))
					return
				}
				if !yield(c, nil) {
					return
				}
			case <-ctx.Done():
				return
			case <-i.done:
				return
			}
		}
	}
}

// breaks cuts the stream of catalogues off, as often as it is opened again.
func (i *instance) breaks() { close(i.catalogs) }

// mends lets the next stream be a whole one.
func (i *instance) mends(tools ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.catalogs = make(chan adapter.Catalog, 10)
	i.catalogs <- offering(tools...)
}

// errHangs is the health of an instance that does not answer.
var errHangs = errors.New("hangs")

func (i *instance) Health(ctx context.Context) error {
	i.mu.Lock()
	i.asked++
	err := i.illness
	i.mu.Unlock()
	if errors.Is(err, errHangs) {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// falls changes its health.
func (i *instance) falls(ill error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.illness = ill
}

// counts are how often its catalogues were followed, and it was asked for its
// health.
func (i *instance) counts() (opened, asked int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.opened, i.asked
}

func (i *instance) Drain(ctx context.Context) error {
	i.mu.Lock()
	i.drained++
	slow := i.slow
	i.mu.Unlock()
	if slow {
		select {
		case <-ctx.Done():
		case <-i.done:
		}
	}
	i.end(errors.New("exit status 0"))
	return nil
}

func (i *instance) Done() <-chan struct{} { return i.done }

func (i *instance) Ended() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ended
}

func (i *instance) About() adapter.About { return adapter.About{Version: "1.0", PID: i.pid} }

func (i *instance) end(why error) {
	i.once.Do(func() {
		i.mu.Lock()
		i.ended = why
		i.mu.Unlock()
		close(i.done)
	})
}

// crash ends it by itself.
func (i *instance) crash() { i.end(errors.New("exit status 3")) }

func (i *instance) over() bool {
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}

func (i *instance) drains() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.drained
}
