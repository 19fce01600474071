// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
)

func (p *program) pluginsVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Compare the plugins and their tools with the lock", Args: cobra.NoArgs,
		Long: "Verify hashes the plugins, starts those that are as pinned for the moment, and compares what their tools claim. It\n" +
			"exits 1 and names each difference if there is one, or if an adapter does not start.",
		Example: "  toolwharf plugins verify\n  toolwharf plugins verify -c prod.yaml --json",
		RunE: func(c *cobra.Command, _ []string) error {
			log := p.quietLog(c)
			cfg, err := p.load(log)
			if err != nil {
				return err
			}
			v, err := app.Verify(c.Context(), cfg, log)
			if err != nil {
				return err
			}
			if p.json {
				if err := print(c, v); err != nil {
					return err
				}
			} else {
				notes(c, v.Notes)
				for _, change := range v.Changes {
					_, _ = fmt.Fprintln(c.OutOrStdout(), printable(change.String()))
				}
			}
			if err := showProblems(c, v.Problems, "its tools cannot be compared"); err != nil {
				return err
			}
			if len(v.Changes) > 0 {
				return fmt.Errorf("%d differences from %s; if they are wanted, run `toolwharf plugins pin`", len(v.Changes), v.Lock)
			}
			if !p.json {
				_, _ = fmt.Fprintf(c.OutOrStdout(), "%s: %d plugins and %d tools are as pinned\n", v.Lock, v.Plugins, v.Tools)
			}
			return nil
		},
	}
}
