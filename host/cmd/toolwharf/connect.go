// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/setup"
)

func (p *program) connect() *cobra.Command {
	var (
		show, http, user bool
		name             string
	)
	c := &cobra.Command{
		Use: "connect CLIENT", Short: "Tell an MCP client of this host", Args: cobra.ExactArgs(1),
		Long: "Connect writes the entry of this host into a client's configuration, keeping the rest of it and a copy of the\n" +
			"file as .bak. The client then starts the host by itself (stdio), or, with --http, calls the one that runs.\n\n" +
			"Clients: " + strings.Join(setup.Clients(), ", ") + ".",
		Example:   "  toolwharf connect claude\n  toolwharf connect cursor --print\n  toolwharf connect vscode --http",
		ValidArgs: setup.Clients(),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := p.load(p.quietLog(c))
			if err != nil {
				return err
			}
			if name == "" {
				name = cfg.Name
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("connect: %w", err)
			}
			entry := setup.Stdio(name, self, cfg.File)
			if http {
				entry = setup.HTTP(name, cfg.HTTP.URL())
			}
			place, err := here(user)
			if err != nil {
				return err
			}
			plan, err := setup.Connect(args[0], entry, place)
			if plan == nil {
				return &usageError{fmt.Errorf("connect: %w", err)}
			}
			if err != nil && !errors.Is(err, setup.ErrNotRewritten) {
				return fmt.Errorf("connect: %w", err)
			}
			return p.carryOut(c, plan, err, show)
		},
	}
	f := c.Flags()
	f.BoolVar(&show, "print", false, "print the entry and write nothing")
	f.BoolVar(&http, "http", false, "let the client call the running host instead of starting one")
	f.BoolVar(&user, "user", false, "the user's own file, where the client also has one of the project")
	f.StringVar(&name, "name", "", "the entry's `name` (default: the host's)")
	return c
}

// carryOut writes the plan, or prints what is to be pasted.
func (p *program) carryOut(c *cobra.Command, plan *setup.Plan, refused error, show bool) error {
	w := c.OutOrStdout()
	if show || refused != nil || plan.Path == "" {
		if refused != nil {
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "toolwharf: %v\n", refused)
		}
		_, _ = fmt.Fprintf(w, "%s\n", plan.Snippet)
		if plan.Command != "" {
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "or: %s\n", plan.Command)
		}
		if refused != nil && !show {
			return failedError{}
		}
		return nil
	}
	if !plan.Changed() {
		_, err := fmt.Fprintf(w, "%s knows this host already: %s\n", plan.Client, plan.Path)
		return err
	}
	if err := plan.Apply(); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	_, err := fmt.Fprintf(w, "wrote %s\n%s\n", plan.Path, plan.Note)
	return err
}

// here is where clients keep their files.
func here(user bool) (setup.Place, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return setup.Place{}, fmt.Errorf("connect: %w", err)
	}
	project, err := filepath.Abs(".")
	if err != nil {
		return setup.Place{}, fmt.Errorf("connect: %w", err)
	}
	place := setup.Place{OS: runtime.GOOS, Home: home, Project: project, User: user}
	switch runtime.GOOS {
	case "windows":
		place.ConfigDir = os.Getenv("APPDATA")
	default:
		place.ConfigDir = os.Getenv("XDG_CONFIG_HOME")
	}
	return place, nil
}
