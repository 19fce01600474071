// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/conform"
)

// pluginsTest has a flag --config of its own, which hides that of all commands:
// nothing of a host is needed here.
func (p *program) pluginsTest() *cobra.Command {
	var config, examples string
	var env []string
	var o conform.Options
	c := &cobra.Command{
		Use: "test PATH", Short: "Judge a plugin by the conformance kit", Args: cobra.ExactArgs(1),
		Long: "Test starts a plugin, an executable or a folder with a plugin.yaml, as a host would, several times over, and\n" +
			"judges what it does and says: one line for each check. It exits 1 if one failed. What cannot be judged, for\n" +
			"example because the plugin needs a configuration, is listed as not run.\n\n" +
			"Only tools that are read_only are called with good arguments, unless --call-all is given. docs/conformance.md\n" +
			"says what is asked, and what an examples file is.",
		Example: "  toolwharf plugins test ./hello\n" +
			"  toolwharf plugins test bin/plugins/sql --config sql.yaml --examples examples.yaml\n" +
			"  toolwharf plugins test ./hello --only launch,calls/cancel --json",
		RunE: func(c *cobra.Command, args []string) error {
			o.Path = args[0]
			var err error
			if config != "" {
				o.Config, o.Secrets, err = conform.ReadConfig(config)
			}
			if examples != "" && err == nil {
				o.Examples, err = conform.ReadExamples(examples)
			}
			if err == nil {
				o.Env, err = variables(env)
			}
			if err != nil {
				return &usageError{err}
			}
			return p.judge(c, o)
		},
	}
	flags := c.Flags()
	flags.StringVarP(&config, "config", "c", "", "the plugin's configuration: a `file` of YAML or JSON; ${NAME} in it is replaced")
	flags.StringVar(&examples, "examples", "", "calls that succeed, and slow ones: a `file` of YAML or JSON")
	flags.StringArrayVar(&env, "env", nil, "a `NAME=VALUE` of the plugin's environment, which is empty else (repeatable)")
	flags.StringVar(&o.Dir, "dir", "", "the `directory` that the plugin runs in (default: this one)")
	flags.BoolVar(&o.CallAll, "call-all", false, "call tools with effects like those that only read: they will have their effects")
	flags.StringSliceVar(&o.Only, "only", nil, "only these `checks` or groups")
	_ = c.MarkFlagFilename("config", "yaml", "yml", "json")
	_ = c.MarkFlagFilename("examples", "yaml", "yml", "json")
	_ = c.MarkFlagDirname("dir")
	return c
}

// judge runs the kit and shows what it found.
func (p *program) judge(c *cobra.Command, o conform.Options) error {
	report, err := conform.Run(c.Context(), o)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &absentError{err}
	case err != nil && c.Context().Err() == nil:
		return &usageError{err}
	case err != nil:
		return err
	}
	if p.json {
		err = print(c, report)
	} else {
		err = report.Text(c.OutOrStdout())
	}
	if n := report.Count(conform.Failed); n > 0 && err == nil {
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "toolwharf: %s: %d checks failed; docs/conformance.md says what each asks\n", o.Path, n)
		return failedError{}
	}
	return err
}

// variables reads NAME=VALUE.
func variables(list []string) (map[string]string, error) {
	env := make(map[string]string, len(list))
	for _, v := range list {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--env %q: it is NAME=VALUE", v)
		}
		env[name] = value
	}
	return env, nil
}
