// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
)

func (p *program) adapters() *cobra.Command {
	c := &cobra.Command{
		Use: "adapters", Short: "See the adapters and their logs, and restart them",
		Long: "Adapters asks the running host of this configuration. Without one, `list` and `show` start them for the\n" +
			"moment, and `restart` and `logs` have nothing to be about.",
	}
	c.AddCommand(p.adaptersList(), p.adaptersShow(), p.adaptersRestart(), p.adaptersLogs())
	return c
}

func (p *program) adaptersList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the adapters and where they are in their lives", Args: cobra.NoArgs,
		Example: "  toolwharf adapters list\n  toolwharf adapters list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withHost(c, func(ctx context.Context, api control.API) error {
				adapters, err := api.Adapters(ctx)
				if err != nil {
					return err
				}
				host, err := api.Host(ctx)
				if err != nil {
					return err
				}
				for _, n := range host.Notes {
					_, _ = fmt.Fprintf(c.ErrOrStderr(), "note: %s\n", printable(n))
				}
				if p.json {
					return print(c, adapters)
				}
				rows := make([][]string, 0, len(adapters))
				for _, a := range adapters {
					rows = append(rows, []string{
						a.Name, a.Plugin, a.State, strconv.Itoa(a.Tools), confinement(a.Sandbox), firstLine(a.Cause, 80),
					})
				}
				return table(c.OutOrStdout(), "ADAPTER\tPLUGIN\tSTATE\tTOOLS\tSANDBOX\tCAUSE", rows)
			})
		},
	}
}

func (p *program) adaptersShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show one adapter, and why it is not ready", Args: cobra.ExactArgs(1),
		Example: "  toolwharf adapters show orders",
		RunE: func(c *cobra.Command, args []string) error {
			return p.withHost(c, func(ctx context.Context, api control.API) error {
				adapters, err := api.Adapters(ctx)
				if err != nil {
					return err
				}
				for _, a := range adapters {
					if a.Name == args[0] {
						return p.showAdapter(c, a)
					}
				}
				return &control.NotFoundError{What: "adapter", Name: args[0]}
			})
		},
	}
}

func (p *program) adaptersRestart() *cobra.Command {
	return &cobra.Command{
		Use: "restart NAME", Short: "Put a fresh instance in the place of what an adapter runs", Args: cobra.ExactArgs(1),
		Long: "Restart starts a fresh instance beside the one that serves, and swaps them once it is ready: no call is\n" +
			"lost. If the fresh one does not start, the old one serves on. An adapter that waits to be tried again, or\n" +
			"was given up, is tried at once.",
		Example: "  toolwharf adapters restart orders",
		RunE: func(c *cobra.Command, args []string) error {
			host, err := p.runningHostOf(c)
			if err != nil {
				return err
			}
			a, err := host.Restart(c.Context(), args[0])
			if err != nil {
				return err
			}
			if p.json {
				return print(c, a)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s is %s (process %d)\n", printable(a.Name), a.State, a.PID)
			return err
		},
	}
}

// confinement is what confines an adapter, in a column; what does not is for show.
func confinement(said string) string {
	holds, _, less := strings.Cut(said, ";")
	if less {
		holds += ", not all of it holds"
	}
	return holds
}

func (p *program) showAdapter(c *cobra.Command, a control.Adapter) error {
	if p.json {
		return print(c, a)
	}
	rows := [][]string{
		{"plugin", a.Plugin},
		{"version", a.Version},
		{"path", a.Path},
		{"state", a.State + " since " + a.Since.Format(time.RFC3339)},
		{"tools", strconv.Itoa(a.Tools)},
		{"prefix", strconv.Quote(a.Prefix)},
		{"crashes", strconv.Itoa(a.Crashes)},
		{"sandbox", a.Sandbox},
	}
	if a.Memory != "" {
		rows = append(rows, []string{"memory", a.Memory})
	}
	for _, r := range a.Reach {
		rows = append(rows, []string{"may", printable(r)})
	}
	if e := a.Egress; e != nil {
		rows = append(rows, []string{"connections", fmt.Sprintf("%d made, %d refused, %d failed, %d open", e.Opened, e.Refused, e.Failed, e.Open)})
	}
	if a.PID != 0 {
		rows = append(rows, []string{"process", strconv.Itoa(a.PID)})
	}
	if a.Retry != nil {
		rows = append(rows, []string{"tried again", a.Retry.Format(time.RFC3339)})
	}
	if err := table(c.OutOrStdout(), "ADAPTER\t"+printable(a.Name), rows); err != nil {
		return err
	}
	if a.Cause != "" {
		_, _ = fmt.Fprintf(c.OutOrStdout(), "\ncause: %s\n", printable(a.Cause))
	}
	for _, n := range a.Notes {
		_, _ = fmt.Fprintf(c.OutOrStdout(), "note: %s\n", printable(n))
	}
	return nil
}
