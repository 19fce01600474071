// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
)

// told takes every notice that is due to a receiver, and keeps it for an hour.
func told(t trial, s Store, receiver string) (notices []approval.Notice) {
	t.Helper()
	for {
		n, err := s.Due(t.Context(), receiver, time.Hour)
		must(t, err)
		if n == nil {
			return notices
		}
		notices = append(notices, *n)
	}
}

func events(notices []approval.Notice) (list []string) {
	for _, n := range notices {
		list = append(list, fmt.Sprint(n.Event, " ", n.Approval, " ", n.Status, " ", n.Attempt))
	}
	return list
}

var telling = []test{
	{"each receiver is told of what it wants, once, in order, in whichever process it happened", func(t trial) {
		other := t.again()
		a, b, c := ask(t, t.Store, "a"), ask(t, other, "b"), ask(t, t.Store, "c")
		_, err := other.Decide(t.Context(), a, approval.Decision{Approve: true, By: "operator"})
		must(t, err)
		_, err = t.Store.Decide(t.Context(), b, approval.Decision{By: "operator"})
		must(t, err)
		must(t, t.Store.Withdraw(t.Context(), c))
		must(t, t.Store.Withdraw(t.Context(), c)) // which changes nothing
		form := asked("form")
		form.Mode = approval.Form
		_, err = t.Store.Ask(t.Context(), form, time.Hour, approval.Quota{})
		must(t, err)

		decided := []string{
			"approval.decided " + a + " approved 1", "approval.decided " + b + " denied 1", "approval.decided " + c + " withdrawn 1",
		}
		all := append([]string{
			"approval.pending " + a + " pending 1", "approval.pending " + b + " pending 1", "approval.pending " + c + " pending 1",
		}, decided...)
		if got := events(told(t, t.Store, "ann")); !slices.Equal(got, all) {
			t.Errorf("ann is told %q", got)
		}
		if got := events(told(t, other, "bob")); !slices.Equal(got, decided) {
			t.Errorf("bob is told %q", got)
		}
		for _, s := range []Store{t.Store, other} {
			for _, receiver := range []string{"ann", "bob", "nobody"} {
				if got := events(told(t, s, receiver)); len(got) > 0 {
					t.Errorf("%s is told again %q", receiver, got)
				}
			}
		}
	}},
	{"what nobody has delivered in time is given again, under the same name", func(t trial) {
		other := t.again()
		ask(t, t.Store, "a")
		first, err := t.Store.Due(t.Context(), "ann", time.Millisecond)
		must(t, err)
		until(t, "it is given again", func() bool {
			again, err := other.Due(t.Context(), "ann", time.Hour)
			must(t, err)
			if again != nil && (again.ID != first.ID || again.Attempt != 2 || !again.At.Equal(first.At)) {
				t.Errorf("%+v, then %+v", first, again)
			}
			return again != nil
		})
		must(t, other.Postpone(t.Context(), first.ID, time.Hour))
		if got := told(t, t.Store, "ann"); len(got) > 0 {
			t.Errorf("postponed, and given %+v", got)
		}
		must(t, other.Postpone(t.Context(), first.ID, 0))
		if got := told(t, t.Store, "ann"); len(got) != 1 || got[0].Attempt != 3 {
			t.Errorf("postponed by nothing, and given %+v", got)
		}
		must(t, t.Store.Forget(t.Context(), first.ID))
		must(t, t.Store.Forget(t.Context(), first.ID)) // which changes nothing
		must(t, other.Postpone(t.Context(), first.ID, 0))
		if got := told(t, t.Store, "ann"); len(got) > 0 {
			t.Errorf("forgotten, and given %+v", got)
		}
	}},
	{"of many that ask at once, one is given a notice", func(t trial) {
		other := t.again()
		for _, name := range numbered("call", 20) {
			ask(t, t.Store, name)
		}
		var mu sync.Mutex
		given := map[string]int{}
		var all sync.WaitGroup
		for i := range 8 {
			s := []Store{t.Store, other}[i%2]
			all.Go(func() {
				for _, n := range told(t, s, "ann") {
					mu.Lock()
					given[n.ID]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if len(given) != 20 {
			t.Errorf("%d are given", len(given))
		}
		for id, n := range given {
			if n != 1 {
				t.Errorf("%s is given %d times", id, n)
			}
		}
	}},
}
