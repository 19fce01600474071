// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
)

func (p *program) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine, the configuration, the store and the running host",
		Long: "Doctor says of each check whether it is ok, a warning or a failure, and what to do. It changes nothing and\n" +
			"starts no adapter. It exits 0 if no check fails, 1 if one does, and 2 if the configuration does.",
		Example: "  toolwharf doctor\n  toolwharf doctor -c prod.yaml --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := app.Diagnose(c.Context(), p.file)
			if err := p.showDiagnosis(c, d); err != nil {
				return err
			}
			switch {
			case d.Misconfigured:
				return &usageError{fmt.Errorf("%s cannot be used as it is", p.file)}
			case !d.Healthy:
				return failedError{}
			default:
				return nil
			}
		},
	}
}

func (p *program) showDiagnosis(c *cobra.Command, d *app.Diagnosis) error {
	if p.json {
		return print(c, d)
	}
	width := 0
	for _, check := range d.Checks {
		width = max(width, len(check.Name))
	}
	for _, check := range d.Checks {
		_, err := fmt.Fprintf(c.OutOrStdout(), "%-4s  %-*s  %s\n", check.State, width, printable(check.Name), printable(check.Text))
		if err == nil && check.Do != "" {
			_, err = fmt.Fprintf(c.OutOrStdout(), "%*s%s\n", 4+2+width+2, "", "-> "+printable(check.Do))
		}
		if err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}
