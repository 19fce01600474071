// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/setup"
)

func (p *program) initialise() *cobra.Command {
	var show bool
	c := &cobra.Command{
		Use: "init [FILE|DSN|URL|DIR]", Short: "Write a configuration for what it is given", Args: cobra.MaximumNArgs(1),
		Long: "Init writes toolwharf.yaml, or the file that -c names, for a SQLite database, a directory of plugins, or\n" +
			"nothing at all. It never overwrites a file.",
		Example: "  toolwharf init shop.db\n  toolwharf init ./plugins\n  toolwharf init shop.db --print",
		RunE: func(c *cobra.Command, args []string) error {
			target := ""
			if len(args) > 0 {
				target = args[0]
			}
			yaml, note, err := setup.Init(target, filepath.Dir(p.file))
			if err != nil {
				return &usageError{fmt.Errorf("init: %w", err)}
			}
			if show {
				_, err := c.OutOrStdout().Write(yaml)
				return err
			}
			if err := setup.WriteNew(p.file, yaml); err != nil {
				return fmt.Errorf("init: %w", err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "wrote %s\n%s\n", p.file, note)
			return err
		},
	}
	c.Flags().BoolVar(&show, "print", false, "print it instead")
	return c
}
