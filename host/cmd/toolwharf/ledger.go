// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func (p *program) ledger() *cobra.Command {
	c := &cobra.Command{
		Use: "ledger", Short: "Read the record of every call",
		Long: "Ledger reads the store of this configuration, whether or not a host runs.",
	}
	c.AddCommand(p.ledgerTail())
	return c
}

func (p *program) ledgerTail() *cobra.Command {
	var (
		q      ledger.Query
		follow bool
		wide   bool
		kind   string
		ended  string
	)
	c := &cobra.Command{
		Use: "tail", Short: "Show the newest calls", Args: cobra.NoArgs,
		Example: "  toolwharf ledger tail\n  toolwharf ledger tail -f --tool shop_query\n  toolwharf ledger tail -n 100 --json",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.load(p.quietLog(c))
			if err != nil {
				return err
			}
			reader, err := app.OpenLedger(c.Context(), cfg)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("no store at %s yet: nothing was recorded", app.StorePath(cfg))
			}
			if err != nil {
				return err //nolint:wrapcheck // it names the store
			}
			defer func() { _ = reader.Close() }()
			q.Kind, q.Outcome = tool.Kind(kind), ledger.Outcome(ended)
			rows := reader.Rows(c.Context(), q)
			if follow {
				rows = reader.Tail(c.Context(), q)
			}
			for row, err := range rows {
				if err != nil {
					if follow && errors.Is(err, context.Canceled) {
						return nil
					}
					return fmt.Errorf("ledger: %w", err)
				}
				if err := p.showRow(c.OutOrStdout(), row, wide); err != nil {
					return fmt.Errorf("output: %w", err)
				}
			}
			return nil
		},
	}
	f := c.Flags()
	f.IntVarP(&q.Last, "last", "n", 20, "how many of the newest rows; 0 is all")
	f.BoolVarP(&follow, "follow", "f", false, "go on with new rows as they come")
	f.BoolVarP(&wide, "wide", "w", false, "show every column")
	f.StringVar(&q.Tool, "tool", "", "only calls of this tool")
	f.StringVar(&q.Adapter, "adapter", "", "only calls of this adapter")
	f.StringVar(&q.Principal, "principal", "", "only calls by this principal")
	f.StringVar(&q.Run, "run", "", "only calls of this run")
	f.StringVar(&ended, "outcome", "", "only calls that ended so: ok, refused, failed, pending, unknown")
	f.StringVar(&kind, "kind", "", "only calls with this error kind")
	return c
}

func (p *program) showRow(w io.Writer, row ledger.Row, wide bool) error {
	if !p.json {
		return ledger.Text(w, row, wide) //nolint:wrapcheck // nothing to add
	}
	_, err := fmt.Fprintf(w, "%s\n", ledger.JSON(row))
	return err //nolint:wrapcheck // nothing to add
}
