// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
)

func (p *program) serve() *cobra.Command {
	var stdio bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tools to MCP clients",
		Long: "Serve starts the adapters and serves their tools over Streamable HTTP, or, with --stdio, to the client that\n" +
			"has started it. Ctrl-C or SIGTERM ends it: calls that run are finished first. A change of the configuration\n" +
			"file, or SIGHUP, is taken over while it runs; a file that is at fault changes nothing.",
		Example: "  toolwharf serve\n  toolwharf serve -c /etc/toolwharf/toolwharf.yaml --log-format json\n  toolwharf serve --stdio",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log := p.log()
			cfg, err := p.load(log)
			if err != nil {
				return err
			}
			log = p.logOf(c, cfg.Log)
			hangup := make(chan os.Signal, 1)
			signal.Notify(hangup, syscall.SIGHUP) // before anything runs that it could end
			host, err := app.Open(c.Context(), app.Options{
				Config: cfg, Version: version, Hangup: hangup, Log: log, OwnProcess: true,
			})
			if err != nil {
				return err
			}
			if stdio {
				return host.ServeStdio(c.Context(), os.Stdin, os.Stdout)
			}
			return host.ServeHTTP(c.Context())
		},
	}
	c.Flags().BoolVar(&stdio, "stdio", false, "serve the client at stdin and stdout; no HTTP")
	return c
}
