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
)

func (p *program) ledger() *cobra.Command {
	c := &cobra.Command{
		Use: "ledger", Short: "Read and verify the record of every call",
		Long: "Ledger reads the store of this configuration, whether or not a host runs.",
	}
	c.AddCommand(p.ledgerTail(), p.ledgerQuery(), p.ledgerVerify(), p.ledgerExport(), p.ledgerPrune())
	return c
}

func (p *program) ledgerTail() *cobra.Command {
	var (
		f      filter
		follow bool
		wide   bool
	)
	c := &cobra.Command{
		Use: "tail", Short: "Show the newest calls", Args: cobra.NoArgs,
		Example: "  toolwharf ledger tail\n  toolwharf ledger tail -f --tool shop_query\n  toolwharf ledger tail -n 100 --json",
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			return p.withLedger(c, func(reader app.LedgerReader) error {
				if !follow {
					return p.showRows(c, reader, q, wide)
				}
				for row, err := range reader.Tail(c.Context(), q) {
					if errors.Is(err, context.Canceled) {
						return nil
					}
					if err == nil {
						err = p.showRow(c.OutOrStdout(), row, wide)
					}
					if err != nil {
						return fmt.Errorf("ledger: %w", err)
					}
				}
				return nil
			})
		},
	}
	f.bind(c)
	flags := c.Flags()
	flags.IntVarP(&f.q.Last, "last", "n", 20, "how many of the newest rows; 0 is all")
	flags.BoolVarP(&follow, "follow", "f", false, "go on with new rows as they come")
	flags.BoolVarP(&wide, "wide", "w", false, "show every column")
	return c
}

func (p *program) ledgerQuery() *cobra.Command {
	var (
		f    filter
		wide bool
	)
	c := &cobra.Command{
		Use: "query", Short: "Show the calls that filters select, the oldest first", Args: cobra.NoArgs,
		Example: "  toolwharf ledger query --since 24h --outcome refused\n" +
			"  toolwharf ledger query --approval apr_BWJ4VHSZSUNGPYOQTVKEIVRDQ4 --wide\n" +
			"  toolwharf ledger query --since 2026-10-01 --until 2026-10-02 --json",
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			return p.withLedger(c, func(reader app.LedgerReader) error { return p.showRows(c, reader, q, wide) })
		},
	}
	f.bind(c)
	flags := c.Flags()
	flags.IntVarP(&f.q.Last, "last", "n", 0, "how many of the newest rows; 0 is all")
	flags.BoolVarP(&wide, "wide", "w", false, "show every column")
	return c
}

// withLedger calls f with the ledger of the configuration.
func (p *program) withLedger(c *cobra.Command, f func(app.LedgerReader) error) error {
	cfg, err := p.loadState(c)
	if err != nil {
		return err
	}
	reader, err := app.OpenLedger(c.Context(), cfg)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no store at %s yet: nothing was recorded", app.StorePath(cfg))
	}
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	return f(reader)
}

func (p *program) showRows(c *cobra.Command, reader app.LedgerReader, q ledger.Query, wide bool) error {
	for row, err := range reader.Rows(c.Context(), q) {
		if err == nil {
			err = p.showRow(c.OutOrStdout(), row, wide)
		}
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	return nil
}

func (p *program) showRow(w io.Writer, row ledger.Row, wide bool) error {
	if !p.json {
		return ledger.Text(w, row, wide)
	}
	_, err := fmt.Fprintf(w, "%s\n", ledger.JSON(row))
	return err
}
