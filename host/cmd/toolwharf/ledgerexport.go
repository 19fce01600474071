// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

func (p *program) ledgerExport() *cobra.Command {
	var (
		f            filter
		format, file string
	)
	c := &cobra.Command{
		Use: "export", Short: "Write the ledger, or what filters select, as JSONL or CSV", Args: cobra.NoArgs,
		Long: "Export writes the oldest row first. JSONL has the chain and its signatures in it, so that\n" +
			"`ledger verify --file` can judge it elsewhere; with filters it is an excerpt, which proves less.\n" +
			"CSV is for spreadsheets.",
		Example: "  toolwharf ledger export -o ledger.jsonl\n" +
			"  toolwharf ledger export --format csv --since 7d --tool shop_refund -o refunds.csv",
		RunE: func(c *cobra.Command, _ []string) error {
			write := ledger.ExportJSONL
			switch format {
			case "jsonl":
			case "csv":
				write = ledger.ExportCSV
			default:
				return &usageError{fmt.Errorf("--format %q: it is jsonl or csv", format)}
			}
			q, err := f.query()
			if err != nil {
				return err
			}
			return p.withLedger(c, func(reader app.LedgerReader) error {
				return into(c, file, func(w io.Writer) error {
					_, err := write(c.Context(), w, reader, q)
					return err
				})
			})
		},
	}
	f.bind(c)
	c.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	c.Flags().StringVarP(&file, "output", "o", "", "write to this `file`, which only its owner may read, in place of stdout")
	_ = c.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions([]string{"jsonl", "csv"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// into calls write with the file, or with stdout if there is none.
func into(c *cobra.Command, file string, write func(io.Writer) error) error {
	if file == "" || file == "-" {
		return write(c.OutOrStdout())
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

func (p *program) ledgerPrune() *cobra.Command {
	var before, keep string
	c := &cobra.Command{
		Use: "prune", Short: "Remove old rows, and keep the rest verifiable", Args: cobra.NoArgs,
		Long: "Prune removes the oldest rows, up to the newest signed one of those that are old enough, and\n" +
			"leaves a signed cut, from which `ledger verify` goes on. It verifies the ledger first, and\n" +
			"removes nothing from one that is not in order.",
		Example: "  toolwharf ledger prune --keep 90d\n  toolwharf ledger prune --before 2026-01-01",
		RunE: func(c *cobra.Command, _ []string) error {
			r := ledger.Retention{}
			var err error
			switch {
			case (before == "") == (keep == ""):
				return &usageError{errors.New("give --keep or --before, not both")}
			case keep != "":
				age, err := span(keep)
				if err != nil {
					return &usageError{fmt.Errorf("--keep %q: it is how long, as 90d or 2160h", keep)}
				}
				r.Before = time.Now().Add(-age)
			default:
				if r.Before, err = moment("--before", before); err != nil {
					return err
				}
			}
			cfg, err := p.load(p.quietLog(c))
			if err != nil {
				return err
			}
			n, err := app.PruneLedger(c.Context(), cfg, r, p.quietLog(c))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("no store at %s yet: nothing was recorded", app.StorePath(cfg))
			case err != nil && n > 0:
				return fmt.Errorf("ledger: %d rows were removed, then: %w", n, err)
			case err != nil:
				return fmt.Errorf("ledger: %w", err)
			case p.json:
				return print(c, map[string]int64{"removed": n})
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "removed %d rows\n", n)
			return err
		},
	}
	c.Flags().StringVar(&before, "before", "", "remove rows that ended before this `time`")
	c.Flags().StringVar(&keep, "keep", "", "remove rows that are older than this `span`, 90d for example")
	return c
}
