// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// patience is how long the suite waits for what must happen. Nothing is right
// because it took that long.
const patience = 60 * time.Second

// row returns a row with something in every column, all of it derived from the
// call, so that half a row or a mixed one shows.
func row(call string) ledger.Row {
	h := fnv.New64a()
	_, _ = h.Write([]byte(call)) // never fails
	n := int64(h.Sum64() % 1_000_000)
	started := time.UnixMicro(1_790_000_000_000_000 + n).UTC()
	return ledger.Row{
		Started:     started,
		Ended:       started.Add(time.Duration(n) * time.Microsecond),
		Call:        call,
		Run:         "run_" + call,
		Attempt:     int(n%3) + 1,
		Principal:   `["client","https://issuer.example","` + call + `"]`,
		Op:          tool.OpTool,
		Tool:        "tool_" + call,
		Adapter:     "adapter_" + call,
		Effects:     tool.Destructive,
		Spec:        tool.DigestOf([]byte("spec" + call)),
		Args:        tool.DigestOf([]byte("args" + call)),
		Outcome:     ledger.Failed,
		Gate:        "gate_" + call,
		Kind:        tool.ToolFailed,
		Code:        "code_" + call,
		Detail:      "detail of " + call + "\x00\n\u202e\u6f22",
		Ran:         tool.RanUnknown,
		ResultBytes: n,
		Cost:        fmt.Sprintf("0.%06d", n),
		Client:      "client " + call,
		Protocol:    "2026-07-28",
		Asked:       tool.DigestOf([]byte("asked" + call)),
		Approval:    "apr_" + call,
		DecidedBy:   "operator of " + call,
	}
}

// begun returns what of r is known before the call is sent.
func begun(r ledger.Row) ledger.Row {
	r.Ended, r.Outcome, r.Gate, r.Kind, r.Code, r.Detail, r.Ran = time.Time{}, "", "", "", "", "", ""
	r.ResultBytes, r.Cost = 0, ""
	return r
}

func record(call string) executor.Record { return executor.Record{Row: row(call)} }

func behind(call string) executor.Record { return executor.Record{Row: row(call), Behind: true} }

func durable(call string) executor.Intent {
	return executor.Intent{Row: begun(row(call)), Durable: true}
}

// collect returns all rows of seq.
func collect(tb testing.TB, seq iter.Seq2[ledger.Row, error]) []ledger.Row {
	tb.Helper()
	var rows []ledger.Row
	for r, err := range seq {
		if err != nil {
			tb.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// sameRows fails unless rows are as they were given; the host is the store's.
func sameRows(tb testing.TB, want, got []ledger.Row) {
	tb.Helper()
	got = slices.Clone(got)
	for i := range got {
		if got[i].Host == "" {
			tb.Fatalf("row %d names no host", got[i].Seq)
		}
		got[i].Host = ""
	}
	if !slices.Equal(want, got) {
		tb.Error("-want +got\n" + cmp.Diff(want, got))
	}
}

func all(tb testing.TB, s Store) []ledger.Row {
	tb.Helper()
	return collect(tb, s.Rows(context.Background(), ledger.Query{}))
}

func openIntents(tb testing.TB, s Store) map[string]ledger.Row {
	tb.Helper()
	open := map[string]ledger.Row{}
	for _, r := range collect(tb, s.Intents(context.Background())) {
		if r.Host == "" {
			tb.Fatalf("the intent of %s names no host", r.Call)
		}
		r.Host = ""
		open[r.Call] = r
	}
	return open
}

// checkWhole fails unless rows count from 1 without gaps and each is as it was
// given. It returns the rows by call.
func checkWhole(tb testing.TB, rows []ledger.Row) map[string]ledger.Row {
	tb.Helper()
	byCall := make(map[string]ledger.Row, len(rows))
	for i, got := range rows {
		want := row(got.Call)
		want.Seq, want.Host = int64(i)+1, got.Host
		if got.Host == "" {
			tb.Fatalf("row %d names no host", i+1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			tb.Fatalf("row %d: -want +got\n%s", i+1, diff)
		}
		if _, twice := byCall[got.Call]; twice {
			tb.Fatalf("%s is there twice", got.Call)
		}
		byCall[got.Call] = got
	}
	return byCall
}

func calls(rows []ledger.Row) []string {
	names := make([]string, 0, len(rows))
	for _, r := range rows {
		names = append(names, r.Call)
	}
	return names
}

// must fails the test on an error.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// until waits for what is bound to become true.
func until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("never happened: %s", what)
		}
	}
}

// numbered returns n calls.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s_%04d", prefix, i)
	}
	return names
}

// together runs f once for each call, all at once, and returns the errors.
func together(names []string, f func(call string) error) (wait func() []error) {
	errs := make([]error, len(names))
	done := make(chan int)
	for i, name := range names {
		go func() {
			errs[i] = f(name)
			done <- i
		}()
	}
	return func() []error {
		for range names {
			<-done
		}
		return errs
	}
}
