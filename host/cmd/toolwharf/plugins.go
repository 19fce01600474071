// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func (p *program) plugins() *cobra.Command {
	c := &cobra.Command{
		Use: "plugins", Short: "Make and judge plugins",
		Long: "Plugins are the programs that serve tools: executables, or folders with a plugin.yaml.",
	}
	c.AddCommand(p.pluginsTest())
	return c
}
