// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
)

// program is what every command shares.
type program struct {
	file, level, format, host, token string
	json                             bool
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string) int {
	p := &program{}
	root := p.root()
	root.SetArgs(args)
	return report(os.Stderr, root.ExecuteContext(ctx))
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "toolwharf",
		Short: "A plugin host for agent tools",
		Long: "Toolwharf serves the tools of plugins to MCP clients. Every plugin is a process of its own, with its own\n" +
			"secrets; the host decides which calls run, and records each of them.",
		Example: "  toolwharf init shop.db             # write a toolwharf.yaml for a SQLite database\n" +
			"  toolwharf serve                    # serve its tools on http://127.0.0.1:8000/mcp\n" +
			"  toolwharf tools list               # what can be called\n" +
			"  toolwharf connect claude           # tell Claude Desktop of it",
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if (p.host != "" || p.token != "") && !asksElsewhere(c) {
				return &usageError{errors.New("--host and --token are not built yet but for approvals: run the command on the host's machine")}
			}
			if hclog.LevelFromString(p.level) == hclog.NoLevel {
				return &usageError{fmt.Errorf("--log-level %q: it is trace, debug, info, warn or error", p.level)}
			}
			if p.format != "" && p.format != "text" && p.format != "json" {
				return &usageError{fmt.Errorf("--log-format %q: it is text or json", p.format)}
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())}
	})
	flags := root.PersistentFlags()
	flags.StringVarP(&p.file, "config", "c", "toolwharf.yaml", "the configuration `file`; paths in it are relative to it")
	flags.BoolVar(&p.json, "json", false, "answer in JSON")
	flags.StringVar(&p.level, "log-level", "info", "least severe `level` of the log on stderr: trace, debug, info, warn, error")
	flags.StringVar(&p.format, "log-format", "", "`form` of the log: text, json (default: text on a terminal, json elsewhere)")
	flags.StringVar(&p.host, "host", "", "`URL` of a host elsewhere (approvals only, so far)")
	flags.StringVar(&p.token, "token", "", "operator's `token` for --host, or @file")
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	root.AddCommand(
		p.serve(), p.validate(), p.doctor(), p.explain(), p.rules(), p.tools(), p.adapters(), p.plugins(), p.dev(), p.approvals(), p.ledger(),
		p.runs(),
		p.initialise(), p.connect(), p.tokens(), p.config(), p.version(),
	)
	wordArgErrors(root)
	return root
}

// asksElsewhere reports a command that can ask a host elsewhere.
func asksElsewhere(c *cobra.Command) bool {
	return c.Parent() != nil && c.Parent().Name() == "approvals"
}

// wordArgErrors makes usage errors of what cobra says about the number of
// arguments and about unknown commands.
func wordArgErrors(c *cobra.Command) {
	check := c.Args
	if check == nil && c.HasSubCommands() {
		check = cobra.NoArgs
		if c.Run == nil && c.RunE == nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return c.Help()
				}
				return nil
			}
		}
	}
	if check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return &usageError{fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wordArgErrors(sub)
	}
}

// load reads the configuration. Warnings go to the log, faults are the error.
func (p *program) load(log hclog.Logger) (*config.Config, error) {
	c, faults := config.Load(p.file)
	for _, w := range faults.Warnings() {
		log.Warn("configuration", "fault", w.String())
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// loadState is load for who only wants to read the store. A file that was broken
// since the store was made does not hide it: its faults are said, and what else
// it says is not to be relied on.
func (p *program) loadState(c *cobra.Command) (*config.Config, error) {
	cfg, err := p.load(p.quietLog(c))
	if err == nil {
		return cfg, nil
	}
	there := &config.Config{State: config.StateOf(p.file)}
	if _, absent := os.Stat(app.StorePath(there)); absent != nil {
		return nil, err
	}
	_, _ = fmt.Fprintln(c.ErrOrStderr(), err)
	_, _ = fmt.Fprintf(c.ErrOrStderr(), "toolwharf: the configuration is at fault; this is the store in %s\n", there.State)
	return there, nil
}

func (p *program) log() hclog.Logger {
	return telemetry.NewLog(telemetry.Options{Level: p.level, Format: p.format, Out: os.Stderr})
}

// logOf is the log as the configuration wants it, unless the command line says
// otherwise.
func (p *program) logOf(c *cobra.Command, wanted config.Log) hclog.Logger {
	o := telemetry.Options{Level: wanted.Level, Format: wanted.Format, Out: os.Stderr}
	if c.Flags().Changed("log-level") {
		o.Level = p.level
	}
	if c.Flags().Changed("log-format") {
		o.Format = p.format
	}
	return telemetry.NewLog(o)
}

// quietLog is the log of a command that is not a host: nothing, unless the user
// asks for more. What went wrong is the command's own answer.
func (p *program) quietLog(c *cobra.Command) hclog.Logger {
	level := p.level
	if !c.Flags().Changed("log-level") {
		level = "off"
	}
	return telemetry.NewLog(telemetry.Options{Level: level, Format: p.format, Out: os.Stderr})
}

// runningHost is the running host of the configuration, nil if there is none. A
// host goes on serving when its file is broken later.
func (p *program) runningHost() *control.Client {
	client, err := control.Dial(config.StateOf(p.file))
	if err != nil {
		return nil
	}
	return client
}

// runningHostOf is the running host of the configuration, or an error that says that
// there is none.
func (p *program) runningHostOf(c *cobra.Command) (*control.Client, error) {
	cfg, err := p.load(p.quietLog(c))
	if err != nil {
		return nil, err
	}
	return control.Dial(cfg.State)
}

// withHost calls f with the running host of the configuration, or, if there is
// none, with one that is started for the moment.
func (p *program) withHost(c *cobra.Command, f func(context.Context, control.API) error) error {
	ctx, log := c.Context(), p.quietLog(c)
	client, err := control.Dial(config.StateOf(p.file))
	switch {
	case err == nil:
		return f(ctx, client)
	case !errors.Is(err, control.ErrNoHost):
		return err
	}
	cfg, err := p.load(log)
	if err != nil {
		return err
	}
	host, err := app.Open(ctx, app.Options{Config: cfg, Version: version, Log: log, OwnProcess: true})
	if err != nil {
		return err
	}
	host.Start(ctx)
	err = host.AwaitTried(ctx)
	if err == nil {
		err = f(ctx, host.API("nothing: it was started for this command"))
	}
	return errors.Join(err, host.Close())
}
