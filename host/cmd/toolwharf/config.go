// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/config"
)

func (p *program) config() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "About the configuration"}
	c.AddCommand(&cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of toolwharf.yaml, for editors", Args: cobra.NoArgs,
		Example: "  toolwharf config schema > toolwharf.schema.json\n" +
			"  # first line of toolwharf.yaml:  # yaml-language-server: $schema=toolwharf.schema.json",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(config.Schema())
			return err
		},
	})
	return c
}
