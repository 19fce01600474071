// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

var awaiting = []test{
	{"who waits is woken by a decision in this process and in another", func(t trial) {
		other := t.again()
		for name, decide := range map[string]func(id string) error{
			"decided here": func(id string) error {
				_, err := t.Store.Decide(t.Context(), id, approval.Decision{Approve: true, By: "operator"})
				return err
			},
			"decided there": func(id string) error {
				_, err := other.Decide(t.Context(), id, approval.Decision{By: "operator"})
				return err
			},
			"withdrawn here":  func(id string) error { return t.Store.Withdraw(t.Context(), id) },
			"withdrawn there": func(id string) error { return other.Withdraw(t.Context(), id) },
		} {
			id := ask(t, t.Store, name)
			wait := together(numbered("waiter", 10), func(string) error { return t.Store.Await(t.Context(), id) })
			must(t, decide(id))
			must(t, errors.Join(wait()...))
		}
	}},
	{"another process that waits is woken", func(t trial) {
		c := remote(t, t.Location, Opening{}, "")
		c.hear(t)
		for _, call := range numbered("call", 5) {
			id := ask(t, t.Store, call)
			c.say(t, "await", id)
			_, err := t.Store.Decide(t.Context(), id, approval.Decision{Approve: true, By: "operator"})
			must(t, err)
			if got := c.hear(t); got != "ok " {
				t.Error(got)
			}
		}
		c.leave(t)
	}},
	{"who waits for what is decided does not wait", func(t trial) {
		for _, status := range statuses[1:] {
			must(t, t.Store.Await(t.Context(), inStatus(t, t.Store, string(status), status)))
		}
	}},
	{"who waits is told when it expires", func(t trial) {
		r, err := t.Store.Ask(t.Context(), asked("a"), 50*time.Millisecond, approval.Quota{})
		must(t, err)
		must(t, t.Store.Await(t.Context(), r.ID))
		statusIs(t, t.Store, r.ID, approval.Expired)
	}},
	{"who waits can leave, and is told when the store is closed", func(t trial) {
		id := ask(t, t.Store, "a")
		ctx, cancel := context.WithCancel(t.Context())
		wait := together([]string{"x"}, func(string) error { return t.Store.Await(ctx, id) })
		cancel()
		if err := wait()[0]; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		wait = together([]string{"x"}, func(string) error { return t.Store.Await(t.Context(), id) })
		must(t, t.Store.Close(t.Context()))
		if err := wait()[0]; !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}},
}
