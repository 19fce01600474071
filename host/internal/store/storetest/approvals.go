// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// asked returns what is asked for a call, of which row tells.
func asked(call string) approval.Record {
	r := row(call)
	return approval.Record{
		Mode: approval.Deferred, Principal: r.Principal, Run: r.Run, Call: r.Call,
		Tool: r.Tool, Adapter: r.Adapter, Effects: r.Effects,
		Spec: r.Spec, Origin: tool.DigestOf([]byte("origin" + call)),
		Args: []byte(`{"call":"` + call + `","text":"\u0000\u202e"}`), Why: "because of " + call,
	}
}

// spends is the intent of a call that spends its approval.
func spends(call, id string) executor.Intent {
	in := durable(call)
	in.Approval = id
	return in
}

// ask asks for a call and returns the id.
func ask(tb testing.TB, s Store, call string) string {
	tb.Helper()
	r, err := s.Ask(tb.Context(), asked(call), time.Hour, approval.Quota{})
	must(tb, err)
	return r.ID
}

// approved asks for a call, approves it and returns the id.
func approved(tb testing.TB, s Store, call string) string {
	tb.Helper()
	id := ask(tb, s, call)
	_, err := s.Decide(tb.Context(), id, approval.Decision{Approve: true, By: "operator"})
	must(tb, err)
	return id
}

// statusIs reports an approval that is elsewhere.
func statusIs(tb testing.TB, s Store, id string, want approval.Status) {
	tb.Helper()
	r, err := s.Approval(tb.Context(), id)
	must(tb, err)
	if r.Status != want {
		tb.Errorf("%s is %s, want %s", id, r.Status, want)
	}
}

// refusedFor reports an error that is not of this status.
func refusedFor(tb testing.TB, err error, want approval.Status, running bool) {
	tb.Helper()
	var status *approval.StatusError
	if !errors.As(err, &status) || status.Status != want || status.Running != running {
		tb.Errorf("got %v, want it to be %s, running %t", err, want, running)
	}
}

// list returns the calls of the approvals that q selects.
func list(tb testing.TB, s Store, q approval.Query) []string {
	tb.Helper()
	names := []string{}
	for r, err := range s.Approvals(tb.Context(), q) {
		must(tb, err)
		names = append(names, r.Call)
	}
	return names
}

// approvalsOf returns the ids of the approvals that q selects.
func approvalsOf(tb testing.TB, s Store, q approval.Query) []string {
	tb.Helper()
	ids := []string{}
	for r, err := range s.Approvals(tb.Context(), q) {
		must(tb, err)
		ids = append(ids, r.ID)
	}
	return ids
}

// inStatus brings a new approval of a call into a status. Expired ones were
// pending.
func inStatus(tb testing.TB, s Store, call string, status approval.Status) (id string) {
	tb.Helper()
	ctx := tb.Context()
	switch status {
	case approval.Pending:
		return ask(tb, s, call)
	case approval.Approved:
		return approved(tb, s, call)
	case approval.Denied:
		id = ask(tb, s, call)
		_, err := s.Decide(ctx, id, approval.Decision{By: "operator", Reason: "no"})
		must(tb, err)
	case approval.Withdrawn:
		id = ask(tb, s, call)
		must(tb, s.Withdraw(ctx, id))
	case approval.Used:
		id = approved(tb, s, call)
		must(tb, s.Begin(ctx, spends(call, id)))
		must(tb, s.End(ctx, record(call)))
	case approval.Expired:
		r, err := s.Ask(ctx, asked(call), time.Millisecond, approval.Quota{})
		must(tb, err)
		id = r.ID
		until(tb, "it expires", func() bool {
			r, err := s.Approval(ctx, id)
			return err == nil && r.Status == approval.Expired
		})
	default:
		panic(fmt.Sprint("status ", status))
	}
	return id
}

var statuses = []approval.Status{
	approval.Pending, approval.Approved, approval.Denied, approval.Withdrawn, approval.Used, approval.Expired,
}
