// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

var asking = []test{
	{"what was asked is read as it was asked, also in other processes", func(t trial) {
		other := t.again()
		before := time.Now().Add(-time.Second)
		got, err := t.Store.Ask(t.Context(), asked("a"), 90*time.Second, approval.Quota{})
		must(t, err)
		want := asked("a")
		want.ID, want.Status, want.Created, want.Expires = got.ID, approval.Pending, got.Created, got.Created.Add(90*time.Second)
		if diff := cmp.Diff(&want, got); diff != "" || !strings.HasPrefix(got.ID, "apr_") {
			t.Error("-want +got\n" + diff)
		}
		if got.Created.Before(before) || got.Created.After(time.Now().Add(time.Second)) {
			t.Errorf("created %v", got.Created)
		}
		for _, s := range []Store{t.Store, other} {
			byID, err := s.Approval(t.Context(), got.ID)
			must(t, err)
			byCall, err := s.OfCall(t.Context(), want.Principal, "a")
			must(t, err)
			if diff := cmp.Diff([]*approval.Record{&want, &want}, []*approval.Record{byID, byCall}); diff != "" {
				t.Error("-want +got\n" + diff)
			}
		}
	}},
	{"what is not there and what is another's look the same", func(t trial) {
		ask(t, t.Store, "a")
		_, none := t.Store.OfCall(t.Context(), asked("a").Principal, "b")
		_, others := t.Store.OfCall(t.Context(), "somebody else", "a")
		_, unknown := t.Store.Approval(t.Context(), "apr_X")
		for _, err := range []error{none, others, unknown, t.Store.Withdraw(t.Context(), "apr_X"), t.Store.Await(t.Context(), "apr_X")} {
			if !errors.Is(err, approval.ErrNone) {
				t.Errorf("got %v", err)
			}
		}
	}},
	{"a principal has one approval of a call", func(t trial) {
		id := ask(t, t.Store, "a")
		_, err := t.Store.Ask(t.Context(), asked("a"), time.Hour, approval.Quota{})
		refusedFor(t, err, approval.Pending, false)
		must(t, t.Store.Withdraw(t.Context(), id))
		_, err = t.Store.Ask(t.Context(), asked("a"), time.Hour, approval.Quota{})
		refusedFor(t, err, approval.Withdrawn, false)
		another := asked("a")
		another.Principal = "somebody else"
		_, err = t.Store.Ask(t.Context(), another, time.Hour, approval.Quota{})
		must(t, err)
	}},
	{"what could never be decided is refused", func(t trial) {
		for name, spoil := range map[string]func(*approval.Record){
			"no principal":      func(r *approval.Record) { r.Principal = "" },
			"no call":           func(r *approval.Record) { r.Call = "" },
			"no tool":           func(r *approval.Record) { r.Tool = "" },
			"no mode":           func(r *approval.Record) { r.Mode = "" },
			"no arguments":      func(r *approval.Record) { r.Args = nil },
			"edited in advance": func(r *approval.Record) { r.Edited = []byte("{}") },
			"without bounds":    func(r *approval.Record) { r.Args = make([]byte, 4*store.MaxRow) },
		} {
			r := asked("a")
			spoil(&r)
			if _, err := t.Store.Ask(t.Context(), r, time.Hour, approval.Quota{}); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if _, err := t.Store.Ask(t.Context(), asked("a"), 0, approval.Quota{}); err == nil {
			t.Error("expired in advance: no error")
		}
		if got := list(t, t.Store, approval.Query{}); len(got) != 0 {
			t.Errorf("there are %v", got)
		}
	}},
	{"only what is pending in the same mode counts for the quota", func(t trial) {
		mine := func(call string, mode approval.Mode) approval.Record {
			r := asked(call)
			r.Principal, r.Mode = "me", mode
			return r
		}
		try := func(r approval.Record, q approval.Quota, want error) (id string) {
			t.Helper()
			got, err := t.Store.Ask(t.Context(), r, time.Hour, q)
			if !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
			if got != nil {
				id = got.ID
			}
			return id
		}
		two, three := approval.Quota{PerPrincipal: 2}, approval.Quota{Total: 3}
		expired, err := t.Store.Ask(t.Context(), mine("expired", approval.Deferred), time.Millisecond, approval.Quota{})
		must(t, err)
		until(t, "it expires", func() bool {
			r, err := t.Store.Approval(t.Context(), expired.ID)
			return err == nil && r.Status == approval.Expired
		})
		first := try(mine("1", approval.Deferred), two, nil)
		try(mine("2", approval.Deferred), two, nil)
		try(mine("3", approval.Deferred), two, approval.ErrQuota)
		try(mine("form", approval.Form), two, nil)
		try(asked("other"), two, nil)
		try(asked("another"), three, approval.ErrQuota)
		must(t, t.Store.Withdraw(t.Context(), first))
		try(asked("another"), three, nil)
		try(mine("3", approval.Deferred), two, nil)
	}},
	{"many who ask at once in two processes keep the quota", func(t trial) {
		other := t.again()
		wait := together(numbered("call", 60), func(call string) error {
			s := t.Store
			if call[len(call)-1]%2 == 0 {
				s = other
			}
			r := asked(call)
			r.Principal = "me"
			_, err := s.Ask(t.Context(), r, time.Hour, approval.Quota{PerPrincipal: 7, Total: 100})
			return err
		})
		granted := 0
		for _, err := range wait() {
			if err == nil {
				granted++
			} else if !errors.Is(err, approval.ErrQuota) {
				t.Error(err)
			}
		}
		if n := len(list(t, t.Store, approval.Query{Principal: "me"})); granted != 7 || n != 7 {
			t.Errorf("%d granted, %d there", granted, n)
		}
	}},
	{"operators list what they select, the oldest first", func(t trial) {
		for _, s := range statuses {
			inStatus(t, t.Store, string(s), s)
		}
		names := numbered("call", 40) // more than a page
		for _, name := range names {
			ask(t, t.Store, name)
		}
		for _, s := range statuses {
			want := []string{string(s)}
			if s == approval.Pending {
				want = append(want, names...)
			}
			if got := list(t, t.Store, approval.Query{Status: s}); !slices.Equal(got, want) {
				t.Errorf("%s: %v", s, got)
			}
		}
		r := asked("call_0007")
		for _, q := range []approval.Query{
			{Principal: r.Principal},
			{Run: r.Run},
			{Call: r.Call},
			{Tool: r.Tool},
			{Adapter: r.Adapter, Mode: approval.Deferred, Status: approval.Pending},
		} {
			if got := list(t, t.Store, q); !slices.Equal(got, []string{"call_0007"}) {
				t.Errorf("%+v: %v", q, got)
			}
		}
		if got := list(t, t.Store, approval.Query{}); len(got) != len(statuses)+len(names) {
			t.Errorf("%d in all", len(got))
		}
		for _, newest := range []bool{false, true} { // page by page is as all at once, more than the store reads at a time
			all := approvalsOf(t, t.Store, approval.Query{Newest: newest})
			if newest {
				slices.Reverse(all)
			}
			if got := approvalsOf(t, t.Store, approval.Query{}); !slices.Equal(got, all) {
				t.Errorf("newest %t: %q, but %q", newest, all, got)
			}
			if newest {
				slices.Reverse(all)
			}
			for i, id := range all {
				if got := approvalsOf(t, t.Store, approval.Query{Newest: newest, Past: id}); !slices.Equal(got, all[i+1:]) {
					t.Errorf("newest %t, past %s: %q", newest, id, got)
				}
			}
			if got := list(t, t.Store, approval.Query{Newest: newest, Past: "apr_X"}); len(got) != 0 {
				t.Errorf("newest %t, past one that is not there: %q", newest, got)
			}
		}
		if got := list(t, t.Store, approval.Query{Mode: approval.Form}); len(got) != 0 {
			t.Errorf("forms: %v", got)
		}
	}},
}
