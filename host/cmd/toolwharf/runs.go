// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

func (p *program) runs() *cobra.Command {
	c := &cobra.Command{
		Use: "runs", Short: "Show what agents did, run by run",
		Long: "Runs are a view of the ledger: the calls of one agent run together.",
	}
	c.AddCommand(p.runsList(), p.runsShow())
	return c
}

func (p *program) runsList() *cobra.Command {
	var (
		f     filter
		limit int
	)
	c := &cobra.Command{
		Use: "list", Short: "Show the newest runs", Args: cobra.NoArgs,
		Example: "  toolwharf runs list\n  toolwharf runs list --since 24h --principal stdio/local/ann",
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			return p.withLedger(c, func(reader app.LedgerReader) error {
				runs, err := ledger.Runs(c.Context(), reader, q, limit)
				if err != nil {
					return fmt.Errorf("ledger: %w", err)
				}
				if p.json {
					return print(c, runs)
				}
				rows := make([][]string, 0, len(runs))
				for _, r := range runs {
					rows = append(rows, []string{
						r.Run, shortTime(r.First), shortTime(r.Last), endings(&r), cmp.Or(r.Cost, "-"), r.Principal,
					})
				}
				return table(c.OutOrStdout(), "RUN\tFIRST\tLAST\tCALLS\tCOST\tPRINCIPAL", rows)
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.since, "since", "", "only what ended at this `time` or later: 2026-10-01, 2026-10-01T12:00:00Z, or 24h or 7d ago")
	flags.StringVar(&f.till, "until", "", "only what ended before this `time`")
	flags.StringVar(&f.q.Principal, "principal", "", "only runs of this principal")
	flags.IntVarP(&limit, "last", "n", 20, "how many of the newest runs; 0 is all")
	return c
}

func (p *program) runsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show one run and its calls", Args: cobra.ExactArgs(1),
		Example: "  toolwharf runs show run_BWJ4VHSZSUNGPYOQTVKEIVRDQ4",
		RunE: func(c *cobra.Command, args []string) error {
			q := ledger.Query{Run: args[0]}
			return p.withLedger(c, func(reader app.LedgerReader) error {
				runs, err := ledger.Runs(c.Context(), reader, q, 1)
				switch {
				case err != nil:
					return fmt.Errorf("ledger: %w", err)
				case len(runs) == 0:
					return &control.NotFoundError{What: "run", Name: args[0]}
				case p.json:
					return p.printRun(c, reader, &runs[0])
				}
				r := &runs[0]
				err = table(c.OutOrStdout(), "RUN\t"+printable(r.Run), [][]string{
					{"principal", r.Principal},
					{"first", shortTime(r.First)},
					{"last", shortTime(r.Last)},
					{"calls", endings(r)},
					{"decisions", strconv.FormatInt(r.Decisions, 10)},
					{"cost", cmp.Or(r.Cost, "-")},
				})
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintln(c.OutOrStdout())
				return p.showRows(c, reader, q, false)
			})
		},
	}
}

func (p *program) printRun(c *cobra.Command, reader app.LedgerReader, r *ledger.Run) error {
	rows := []json.RawMessage{}
	for row, err := range reader.Rows(c.Context(), ledger.Query{Run: r.Run}) {
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		rows = append(rows, ledger.JSON(row))
	}
	return print(c, struct {
		*ledger.Run
		Rows []json.RawMessage `json:"rows"`
	}{r, rows})
}

// endings says how the calls of a run ended, as "2 ok, 1 refused".
func endings(r *ledger.Run) string {
	var parts []string
	for _, o := range outcomes() {
		if n := r.Calls[ledger.Outcome(o)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

func shortTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
