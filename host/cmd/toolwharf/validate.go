// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
)

func (p *program) validate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration and start nothing",
		Long: "Validate reports every fault of the configuration at once, each with its key and line. It exits 2 if there\n" +
			"is one, and 0 if there are only warnings: such as rules that can never decide anything. What tools there are, a\n" +
			"running host says, or what was seen and pinned of them before.",
		Example: "  toolwharf validate\n  toolwharf validate -c prod.yaml --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, faults := config.Load(p.file)
			if cfg != nil {
				var host control.API
				if running := p.runningHost(); running != nil {
					host = running
				}
				found, err := app.ReviewRules(c.Context(), p.file, cfg, host)
				if err != nil {
					return err
				}
				faults.Add(found...)
			}
			if p.json {
				if err := print(c, map[string]any{"valid": faults.Err() == nil, "faults": faults}); err != nil {
					return err
				}
				if faults.Err() != nil {
					return &usageError{fmt.Errorf("%s is not valid", p.file)}
				}
				return nil
			}
			if err := faults.Err(); err != nil {
				return err
			}
			for _, w := range faults.Warnings() {
				_, _ = fmt.Fprintln(c.ErrOrStderr(), w)
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s is valid: %d adapters\n", p.file, len(cfg.Adapters))
			return err
		},
	}
}
