// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

func (p *program) ledgerVerify() *cobra.Command {
	var (
		expect, keys []string
		file         string
		heads        bool
	)
	c := &cobra.Command{
		Use: "verify", Short: "Look for rows that were changed, removed or added", Args: cobra.NoArgs,
		Long: "Verify reads the whole ledger, compares each row with its hash and the chains with their\n" +
			"signatures, and names what does not fit. It exits with 0 if everything does, else with 1.\n\n" +
			"An older copy of the whole store fits, too. Note the heads that --heads shows outside of\n" +
			"this machine, and give them with --expect-head: then it does not.",
		Example: "  toolwharf ledger verify --heads\n" +
			"  toolwharf ledger verify --expect-head host_QUSX3YZ2B6MYQ3LBVFDTRAVFPC:1204:8c02...\n" +
			"  toolwharf ledger verify --file ledger.jsonl --key ledger.key.pub",
		RunE: func(c *cobra.Command, _ []string) error {
			trust := ledger.Trust{}
			for _, s := range expect {
				h, err := ledger.ParseHead(s)
				if err != nil {
					return &usageError{fmt.Errorf("--expect-head %w", err)}
				}
				trust.Expect = append(trust.Expect, h)
			}
			report, err := p.verify(c, trust, keys, file)
			if err != nil {
				return err
			}
			return p.showReport(c, report, heads)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&expect, "expect-head", nil, "`host:n:hash` that must still be in the ledger; may be given again")
	f.StringArrayVar(&keys, "key", nil, "`file` with public keys that may sign; may be given again (default ledger.key in the state directory)")
	f.StringVar(&file, "file", "", "verify this `export` (JSONL) in place of the store")
	f.BoolVar(&heads, "heads", false, "show where the chains end, to be noted for --expect-head")
	return c
}

func (p *program) verify(c *cobra.Command, trust ledger.Trust, keys []string, file string) (*ledger.Report, error) {
	var cfg *config.Config
	var err error
	if file == "" || len(keys) == 0 { // else there is nothing to look up
		if cfg, err = p.loadState(c); err != nil {
			return nil, err
		}
	}
	if file != "" {
		if trust.Keys, err = app.LedgerVerifier(cfg, keys); err != nil {
			return nil, err
		}
		in, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		report, err := ledger.VerifyExport(c.Context(), in, trust)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return report, nil
	}
	var report *ledger.Report
	err = p.withLedger(c, func(reader app.LedgerReader) (err error) {
		if trust.Keys, err = app.LedgerVerifier(cfg, keys); err != nil {
			return err
		}
		if report, err = ledger.Verify(c.Context(), reader, trust); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		return nil
	})
	return report, err
}

// showReport writes a report, and returns failedError if something was found.
func (p *program) showReport(c *cobra.Command, r *ledger.Report, heads bool) error {
	w := c.OutOrStdout()
	var err error
	if p.json {
		err = print(c, struct {
			OK bool `json:"ok"`
			*ledger.Report
		}{r.OK(), r})
	} else {
		err = writeReport(w, r, heads)
	}
	if err == nil && !r.OK() {
		err = failedError{}
	}
	return err
}

func writeReport(w io.Writer, r *ledger.Report, heads bool) error {
	for _, f := range r.Findings {
		_, _ = fmt.Fprintf(w, "%s: %s\n", f.Fault, printable(f.Text))
	}
	if r.More > 0 {
		_, _ = fmt.Fprintf(w, "and %d more\n", r.More)
	}
	for _, n := range r.Notes {
		_, _ = fmt.Fprintf(w, "note: %s\n", printable(n))
	}
	_, _ = fmt.Fprintf(w, "%s\n", r.Summary())
	if heads {
		for _, h := range r.Heads {
			_, _ = fmt.Fprintln(w, printable(h.String()))
		}
	}
	verdict := "in order: nothing was changed, removed or added"
	switch {
	case r.Excerpt && r.OK():
		verdict = "in order: none of these rows was changed"
	case !r.OK():
		verdict = fmt.Sprintf("NOT in order: %d findings", int64(len(r.Findings))+r.More)
	}
	if _, err := fmt.Fprintln(w, verdict); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}
