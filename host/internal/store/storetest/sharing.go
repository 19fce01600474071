// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var sharing = []test{
	{"every durable answer survives kill -9", func(t trial) {
		heard := heardSet{}
		for round := range 4 {
			child := spawn(t, t.Location, fmt.Sprintf("round%d", round), forever)
			for n := 0; n < 200; {
				what := child.hear(t)
				heard.add(what)
				if strings.HasPrefix(what, "ended ") {
					n++
				}
			}
			child.kill(t)
			for _, what := range child.rest(t) {
				heard.add(what)
			}
			child.reap(t)
			heard.check(t, t.again())
		}
	}},
	{"several processes write one store", func(t trial) {
		heard := heardSet{}
		const rows = 100
		children := make([]*child, 2)
		for i := range children {
			children[i] = spawn(t, t.Location, fmt.Sprintf("child%d", i), rows)
		}
		wait := together(numbered("caller", 4), func(caller string) error {
			return write(t.Store, caller, rows, func(string) {})
		})
		must(t, errors.Join(wait()...))
		for _, c := range children {
			for _, what := range c.rest(t) {
				heard.add(what)
			}
			c.succeed(t)
		}
		heard.check(t, t.Store)
		if n, want := mustNewest(t, t.Store), int64(rows*(4+2*childCallers)); n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
		if open := openIntents(t, t.Store); len(open) != 0 {
			t.Errorf("open: %v", open)
		}
	}},
	{"several processes make one store at once", func(t trial) {
		const rows = 5
		children := make([]*child, 4)
		for i := range children {
			children[i] = spawn(t, t.Fresh, fmt.Sprintf("child%d", i), rows)
		}
		for _, c := range children {
			c.rest(t)
			c.succeed(t)
		}
		s := t.open(t.Fresh, Opening{})
		if got := checkWhole(t, all(t, s)); len(got) != 4*childCallers*rows {
			t.Errorf("%d rows", len(got))
		}
		if s.ID() == t.Store.ID() {
			t.Error("two stores have one id")
		}
	}},
	{"many in one process make one store at once", func(t trial) {
		names := numbered("opener", 8)
		stores := make(chan Store, len(names))
		wait := together(names, func(name string) error {
			s, err := t.Open(t.Fresh, Opening{}.whole())
			if err != nil {
				return err
			}
			stores <- s
			return s.End(t.Context(), record(name))
		})
		must(t, errors.Join(wait()...))
		close(stores)
		ids := map[string]bool{}
		for s := range stores {
			ids[s.ID()] = true
			if got := checkWhole(t, all(t, s)); len(got) != len(names) {
				t.Errorf("%d rows", len(got))
			}
			t.Cleanup(func() { finish(t, s) })
		}
		if len(ids) != 1 {
			t.Errorf("ids: %v", ids)
		}
	}},
}

// heardSet is what children have said that they were told.
type heardSet map[string]bool

func (h heardSet) add(what string) { h[what] = true }

// check fails unless the store has all of it, whole, and nothing half.
func (h heardSet) check(tb testing.TB, s Store) {
	tb.Helper()
	ledger := all(tb, s)
	rows, open := checkWhole(tb, ledger), openIntents(tb, s)
	for call := range open {
		if _, ended := rows[call]; ended {
			tb.Errorf("%s has ended and its intent is open", call)
		}
	}
	for what := range h {
		verb, call, _ := strings.Cut(what, " ")
		_, ended := rows[call]
		_, isOpen := open[call]
		if !ended && (verb == "ended" || !isOpen) {
			tb.Errorf("%s was told, and it is not there", what)
		}
	}
	next := map[string]int{} // of each caller
	for _, r := range ledger {
		caller := r.Call[:strings.LastIndexByte(r.Call, '_')]
		if want := callName(caller, next[caller]); r.Call != want {
			tb.Errorf("row %d is %s, want %s: a caller's rows are out of order", r.Seq, r.Call, want)
		}
		next[caller]++
	}
}
