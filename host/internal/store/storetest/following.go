// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

var following = []test{
	{"a tail goes on with rows of this process and of others", func(t trial) {
		other := t.again()
		must(t, t.Store.End(t.Context(), record("old")))
		for _, reader := range []Store{t.Store, other} {
			follow(t, reader, ledger.Query{}, func(next func() string) {
				for range mustNewest(t, reader) {
					next()
				}
				for i, name := range numbered("call", 10) {
					writer := t.Store
					if i%2 == 1 {
						writer = other
					}
					must(t, writer.End(t.Context(), record(name)))
					if got := next(); got != name {
						t.Fatalf("got %s, want %s", got, name)
					}
				}
			})
		}
	}},
	{"a tail misses nothing while many write", func(t trial) {
		other := t.again()
		names := numbered("call", 500)
		follow(t, t.Store, ledger.Query{}, func(next func() string) {
			wait := together(names, func(name string) error {
				if name[len(name)-1]%2 == 0 {
					return other.End(t.Context(), record(name))
				}
				return t.Store.End(t.Context(), behind(name))
			})
			got := map[string]bool{}
			for range names {
				got[next()] = true
			}
			if len(got) != len(names) {
				t.Errorf("%d calls of %d", len(got), len(names))
			}
			must(t, errors.Join(wait()...))
		})
	}},
	{"a tail begins where its query says and filters what comes", func(t trial) {
		fill(t, t.Store, 20)
		q := ledger.Query{Last: 2, Tool: "tool_1"}
		follow(t, t.Store, q, func(next func() string) {
			if got, want := []string{next(), next()}, []string{"call_16", "call_19"}; !cmp.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			r := record("other")
			must(t, t.Store.End(t.Context(), r))
			r.Call, r.Tool = "new", "tool_1"
			must(t, t.Store.End(t.Context(), r))
			if got := next(); got != "new" {
				t.Errorf("got %s", got)
			}
		})
		follow(t, t.Store, ledger.Query{After: mustNewest(t, t.Store)}, func(next func() string) {
			must(t, t.Store.End(t.Context(), record("newer")))
			if got := next(); got != "newer" {
				t.Errorf("got %s", got)
			}
		})
	}},
	{"a tail ends with its context", func(t trial) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			var last error
			for _, last = range t.Store.Tail(ctx, ledger.Query{}) {
			}
			ended <- last
		}()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}},
	{"a tail ends when the store is closed", func(t trial) {
		must(t, t.Store.End(t.Context(), record("a")))
		following, ended := make(chan bool), make(chan error)
		go func() {
			var last error
			for r, err := range t.Store.Tail(t.Context(), ledger.Query{}) {
				if r.Seq == 1 {
					close(following)
				}
				last = err
			}
			ended <- last
		}()
		<-following
		must(t, t.Store.Close(t.Context()))
		if err := <-ended; !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}},
}

// follow lets a test pull the calls of a tail.
func follow(tb testing.TB, s Store, q ledger.Query, run func(next func() string)) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	next, stop := iter.Pull2(s.Tail(ctx, q))
	defer stop()
	run(func() string {
		tb.Helper()
		r, err, ok := next()
		if err != nil || !ok {
			tb.Fatalf("the tail ended: %v", err)
		}
		return r.Call
	})
}

func mustNewest(tb testing.TB, s Store) int64 {
	tb.Helper()
	n, err := s.Newest(tb.Context())
	must(tb, err)
	return n
}
