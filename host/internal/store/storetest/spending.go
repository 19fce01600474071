// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

var spending = []test{
	{"an approval is spent with the intent that it is for", func(t trial) {
		id := approved(t, t.Store, "a")
		must(t, t.Store.Begin(t.Context(), spends("a", id)))
		r, err := t.Store.Approval(t.Context(), id)
		must(t, err)
		if r.Status != approval.Used || !r.Running {
			t.Errorf("it is %s, running %t", r.Status, r.Running)
		}
		refusedFor(t, t.Store.Begin(t.Context(), spends("a", id)), approval.Used, true)
		must(t, t.Store.End(t.Context(), record("a")))
		refusedFor(t, t.Store.Begin(t.Context(), spends("a", id)), approval.Used, false)
		if open := openIntents(t, t.Store); len(open) != 0 {
			t.Errorf("open: %v", open)
		}
	}},
	{"what is not approved is not spent, and the call does not begin", func(t trial) {
		for _, status := range []approval.Status{approval.Pending, approval.Denied, approval.Withdrawn, approval.Expired} {
			id := inStatus(t, t.Store, string(status), status)
			refusedFor(t, t.Store.Begin(t.Context(), spends(string(status), id)), status, false)
			statusIs(t, t.Store, id, status)
		}
		if err := t.Store.Begin(t.Context(), spends("x", "apr_X")); !errors.Is(err, approval.ErrNone) {
			t.Errorf("got %v", err)
		}
		if open := openIntents(t, t.Store); len(open) != 0 {
			t.Errorf("open: %v", open)
		}
	}},
	{"what was approved expires too", func(t trial) {
		r, err := t.Store.Ask(t.Context(), asked("a"), 200*time.Millisecond, approval.Quota{})
		must(t, err)
		if _, err := t.Store.Decide(t.Context(), r.ID, approval.Decision{Approve: true, By: "operator"}); err != nil {
			t.Skip("a slow machine:", err)
		}
		until(t, "it expires", func() bool {
			r, err := t.Store.Approval(t.Context(), r.ID)
			return err == nil && r.Status == approval.Expired
		})
		refusedFor(t, t.Store.Begin(t.Context(), spends("a", r.ID)), approval.Expired, false)
	}},
	{"an approval is for nobody and nothing else", func(t trial) {
		id := approved(t, t.Store, "a")
		for name, spoil := range map[string]func(*executor.Intent){
			"principal": func(in *executor.Intent) { in.Principal = "somebody else" },
			"call":      func(in *executor.Intent) { in.Call = "b" },
			"tool":      func(in *executor.Intent) { in.Tool = "another" },
		} {
			in := spends("a", id)
			spoil(&in)
			if err := t.Store.Begin(t.Context(), in); !errors.Is(err, approval.ErrNone) {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, t.Store.Begin(t.Context(), spends("a", id)))
	}},
	{"of an intent, its approval and its round all are written or none", func(t trial) {
		id := approved(t, t.Store, "a")
		in := spends("a", id)
		in.Round, in.RoundUntil = "round", time.Now().Add(time.Hour)
		begun := durable("b")
		begun.Round = "round"
		must(t, t.Store.Begin(t.Context(), begun))
		if err := t.Store.Begin(t.Context(), in); !errors.Is(err, executor.ErrRoundSpent) {
			t.Fatalf("got %v", err)
		}
		statusIs(t, t.Store, id, approval.Approved)
		in.Round = "another"
		must(t, t.Store.Begin(t.Context(), durable("a"))) // by whatever fault
		if err := t.Store.Begin(t.Context(), in); !errors.Is(err, store.ErrBegun) {
			t.Fatalf("got %v", err)
		}
		statusIs(t, t.Store, id, approval.Approved)
		must(t, t.Store.End(t.Context(), record("a")))
		must(t, t.Store.Begin(t.Context(), in)) // the round was not spent either
		statusIs(t, t.Store, id, approval.Used)
	}},
	{"a round is used once, by whoever it was", func(t trial) {
		other := t.again()
		wait := together(numbered("call", 40), func(call string) error {
			s := t.Store
			if call[len(call)-1]%2 == 0 {
				s = other
			}
			in := durable(call)
			in.Round, in.RoundUntil = "round", time.Now().Add(time.Hour)
			in.Durable = call[len(call)-1]%3 == 0
			return s.Begin(t.Context(), in)
		})
		won := 0
		for _, err := range wait() {
			if err == nil {
				won++
			} else if !errors.Is(err, executor.ErrRoundSpent) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("used %d times", won)
		}
	}},
	{"an approval makes an intent durable", func(t trial) {
		in := spends("a", approved(t, t.Store, "a"))
		in.Durable = false
		must(t, t.Store.Begin(t.Context(), in))
		if open := openIntents(t, t.Store); len(open) != 1 {
			t.Errorf("open: %v", open)
		}
	}},
	{"a begin that is refused leaves the others of its batch alone", func(t trial) {
		used := inStatus(t, t.Store, "used", approval.Used)
		good := approved(t, t.Store, "good")
		release := t.block()
		names := append(numbered("call", 30), "good", "used", "round", "round")
		wait := together(names, func(call string) error {
			in := durable(call)
			switch call {
			case "good":
				in.Approval = good
			case "used":
				in.Approval = used
			case "round":
				in.Round = "round"
			}
			return t.Store.Begin(t.Context(), in)
		})
		until(t, "all have queued", func() bool { return t.Store.Health().Queued == len(names) })
		release()
		errs := wait()
		must(t, errors.Join(errs[:31]...))
		refusedFor(t, errs[31], approval.Used, false)
		if (errs[32] == nil) == (errs[33] == nil) {
			t.Errorf("of two rounds: %v, %v", errs[32], errs[33])
		}
		if open := openIntents(t, t.Store); len(open) != 32 {
			t.Errorf("%d open", len(open))
		}
	}},
	{"in two processes one of many begins spends the approval", func(t trial) {
		children := []*child{remote(t, t.Location, Opening{}, ""), remote(t, t.Location, Opening{}, "")}
		for _, c := range children {
			c.hear(t)
		}
		for i := range 100 {
			call := callName("call", i)
			id := approved(t, t.Store, call)
			for _, c := range children {
				c.say(t, "begin", call, id)
			}
			mine := t.Store.Begin(t.Context(), spends(call, id))
			won := 0
			if mine == nil {
				won++
			} else {
				refusedFor(t, mine, approval.Used, true)
			}
			for _, c := range children {
				switch answer := c.hear(t); {
				case strings.HasPrefix(answer, "ok"):
					won++
				case answer != "no used true":
					t.Errorf("%s: %s", call, answer)
				}
			}
			if won != 1 {
				t.Fatalf("%s was begun %d times", call, won)
			}
			must(t, t.Store.End(t.Context(), record(call)))
		}
		for _, c := range children {
			c.leave(t)
		}
	}},
}
