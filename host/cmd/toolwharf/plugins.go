// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
)

func (p *program) plugins() *cobra.Command {
	c := &cobra.Command{
		Use: "plugins", Short: "See, pin, make and judge plugins",
		Long: "Plugins are the programs that serve tools: executables, or folders with a plugin.yaml. `list`, `pin` and `verify`\n" +
			"look into the plugin directories of this configuration, whether or not a host runs. `pin` writes down in\n" +
			"toolwharf.lock what is there now: the hash of each plugin, and what the tools of each adapter claim. With\n" +
			"`plugins: {trust: pinned}` nothing else runs; in any mode it accepts what was held back of changed tools.",
	}
	c.AddCommand(p.pluginsList(), p.pluginsPin(), p.pluginsVerify(), p.pluginsNew(), p.pluginsTest())
	return c
}

func (p *program) pluginsList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the plugins that lie in the directories, or that the lock names", Args: cobra.NoArgs,
		Long: "List hashes the plugins and compares them with toolwharf.lock: `pinned`, `changed` since, `unpinned`, or `missing`\n" +
			"from the directories. It starts nothing.",
		Example: "  toolwharf plugins list\n  toolwharf plugins list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.load(p.quietLog(c))
			if err != nil {
				return err
			}
			listing, err := app.ListPlugins(c.Context(), cfg)
			if err != nil {
				return err
			}
			if p.json {
				return print(c, listing.Plugins)
			}
			rows := make([][]string, 0, len(listing.Plugins))
			for _, i := range listing.Plugins {
				rows = append(rows, []string{i.Name, i.Kind, i.Pin, strings.Join(i.Adapters, ", "), i.Path, i.Hash})
			}
			if err := table(c.OutOrStdout(), "PLUGIN\tKIND\tPIN\tADAPTERS\tPATH\tHASH", rows); err != nil {
				return err
			}
			notes(c, listing.Notes)
			return nil
		},
	}
}

// notes tells what was left out of the directories.
func notes(c *cobra.Command, notes []string) {
	for _, n := range notes {
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "note: %s\n", printable(n))
	}
}
