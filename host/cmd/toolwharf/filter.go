// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// filter is the flags that select rows of the ledger.
type filter struct {
	q                              ledger.Query
	outcome, kind, op, since, till string
}

func outcomes() []string {
	return []string{
		string(ledger.OK), string(ledger.Refused), string(ledger.Failed), string(ledger.Pending), string(ledger.Unknown),
		string(ledger.Approved), string(ledger.Denied), string(ledger.Withdrawn),
	}
}

func ops() []string {
	return []string{
		string(tool.OpTool), string(tool.OpResource), string(tool.OpPrompt), string(tool.OpCompletion),
		string(ledger.OpDecision), string(ledger.OpReload), string(ledger.OpSubscription),
	}
}

func (f *filter) bind(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.since, "since", "", "only rows that ended at this `time` or later: 2026-10-01, 2026-10-01T12:00:00Z, or 24h or 7d ago")
	flags.StringVar(&f.till, "until", "", "only rows that ended before this `time`")
	flags.StringVar(&f.q.Tool, "tool", "", "only calls of this tool")
	flags.StringVar(&f.q.Adapter, "adapter", "", "only calls of this adapter")
	flags.StringVar(&f.q.Principal, "principal", "", "only calls by this principal")
	flags.StringVar(&f.q.Run, "run", "", "only calls of this run")
	flags.StringVar(&f.q.Call, "call", "", "only rows of this call")
	flags.StringVar(&f.q.Approval, "approval", "", "only rows that concern this approval")
	flags.StringVar(&f.outcome, "outcome", "", "only calls that ended so: "+strings.Join(outcomes(), ", "))
	flags.StringVar(&f.kind, "kind", "", "only calls with this error kind")
	flags.StringVar(&f.op, "op", "", "only rows of this sort: "+strings.Join(ops(), ", "))
	_ = c.RegisterFlagCompletionFunc("op", cobra.FixedCompletions(ops(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(outcomes(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *filter) query() (ledger.Query, error) {
	q := f.q
	if f.outcome != "" && !slices.Contains(outcomes(), f.outcome) {
		return q, &usageError{fmt.Errorf("--outcome %q: it is one of %s", f.outcome, strings.Join(outcomes(), ", "))}
	}
	if f.op != "" && !slices.Contains(ops(), f.op) {
		return q, &usageError{fmt.Errorf("--op %q: it is one of %s", f.op, strings.Join(ops(), ", "))}
	}
	q.Outcome, q.Kind, q.Op = ledger.Outcome(f.outcome), tool.Kind(f.kind), tool.Op(f.op)
	var err error
	if q.Since, err = moment("--since", f.since); err != nil {
		return q, err
	}
	q.Until, err = moment("--until", f.till)
	return q, err
}

// moment reads a time, a day in UTC, or how long ago it was; nothing is the zero
// time.
func moment(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	ago, err := span(s)
	if err != nil {
		return time.Time{}, &usageError{fmt.Errorf(
			"%s %q: it is a day as 2026-10-01, a time as 2026-10-01T12:00:00Z, or how long ago as 24h or 7d", flag, s)}
	}
	return time.Now().Add(-ago), nil
}

// span reads a duration that is not negative, also in days.
func span(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		const most = int64(math.MaxInt64 / (24 * time.Hour))
		n, err := strconv.ParseInt(days, 10, 64)
		if err != nil || n < 0 || n > most {
			return 0, fmt.Errorf("%q is not a number of days", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	return d, err
}
