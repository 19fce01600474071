// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/pin"
)

// pinned is the answer of `plugins pin --json`.
type pinned struct {
	Lock     string        `json:"lock"`
	Written  bool          `json:"written"`
	Changes  []pin.Change  `json:"changes"`
	Problems []app.Problem `json:"problems"`
}

func (p *program) pluginsPin() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "pin [PLUGIN|ADAPTER...]", Short: "Accept the plugins and their tools as they are now",
		Long: "Pin shows what has changed since the last time and writes toolwharf.lock, beside the configuration. Named plugins\n" +
			"or adapters only, or else all of them; what is gone is then taken out. It asks twice: first about programs, then,\n" +
			"having started the accepted ones for the moment, about what their tools claim. Without a terminal it needs --yes.\n" +
			"A running host takes it up within seconds. Commit the lock with the configuration.",
		Example: "  toolwharf plugins pin              # everything\n" +
			"  toolwharf plugins pin orders       # one adapter, after a look at what was held back\n" +
			"  toolwharf plugins pin --yes --json # in a script",
		RunE: func(c *cobra.Command, args []string) error {
			log := p.quietLog(c)
			cfg, err := p.load(log)
			if err != nil {
				return err
			}
			proposal, err := app.Propose(c.Context(), cfg, args)
			if err != nil {
				return err
			}
			if !p.json {
				notes(c, proposal.Notes)
			}
			answer := pinned{Lock: app.LockPath(cfg), Changes: proposal.Programs()}
			if err := p.consent(c, yes, proposal.Programs(), "start these programs to look at their tools?"); err != nil {
				return p.unpinned(c, answer, err)
			}
			if answer.Problems, err = proposal.Look(c.Context(), log); err != nil {
				return err
			}
			answer.Changes = append(answer.Changes, proposal.Tools()...)
			if err := p.consent(c, yes, proposal.Tools(), "accept these tools?"); err != nil {
				return p.unpinned(c, answer, err)
			}
			if err := proposal.Accept(); err != nil {
				return err
			}
			answer.Written = true
			return p.showPinned(c, answer)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "accept everything without being asked")
	c.ValidArgsFunction = p.completePlugin
	return c
}

// consent shows changes and returns nil if they are accepted.
func (p *program) consent(c *cobra.Command, yes bool, changes []pin.Change, question string) error {
	if !p.json {
		for _, change := range changes {
			_, _ = fmt.Fprintln(c.OutOrStdout(), printable(change.String()))
		}
	}
	if yes || len(changes) == 0 {
		return nil
	}
	if p.json || !isTerminal(c.InOrStdin()) {
		return errors.New("nothing was pinned: look at the changes, and accept them with --yes")
	}
	_, _ = fmt.Fprintf(c.ErrOrStderr(), "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(c.InOrStdin(), &answer)
	if strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes") {
		return nil
	}
	return errors.New("nothing was pinned")
}

func (p *program) unpinned(c *cobra.Command, answer pinned, err error) error {
	if !p.json {
		return err
	}
	return errors.Join(print(c, answer.whole()), err)
}

// whole has empty lists where there is nothing.
func (a pinned) whole() pinned {
	if a.Changes == nil {
		a.Changes = []pin.Change{}
	}
	if a.Problems == nil {
		a.Problems = []app.Problem{}
	}
	return a
}

func (p *program) showPinned(c *cobra.Command, answer pinned) error {
	if p.json {
		if err := print(c, answer.whole()); err != nil {
			return err
		}
	} else {
		what := fmt.Sprintf("%d changes", len(answer.Changes))
		if len(answer.Changes) == 0 {
			what = "nothing has changed"
		}
		_, _ = fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", answer.Lock, what)
	}
	return showProblems(c, answer.Problems, "its tools were not pinned")
}

// showProblems names the adapters that did not start, and fails if there are
// any.
func showProblems(c *cobra.Command, problems []app.Problem, what string) error {
	for _, a := range problems {
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "toolwharf: adapter %s is %s, and %s: %s\n",
			printable(a.Adapter), a.State, what, printable(a.Cause))
	}
	if len(problems) > 0 {
		return failedError{}
	}
	return nil
}

// completePlugin completes names of plugins and adapters; it starts nothing.
func (p *program) completePlugin(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if cfg, _ := config.Load(p.file); cfg != nil {
		installed, _, _ := app.Inventory(context.WithoutCancel(c.Context()), cfg)
		for _, i := range installed {
			names = append(append(names, i.Name), i.Adapters...)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
