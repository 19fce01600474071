// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/trial"
)

// casesName is the file of cases beside the configuration.
const casesName = "rules.test.yaml"

func (p *program) rules() *cobra.Command {
	c := &cobra.Command{Use: "rules", Short: "Test the rules"}
	c.AddCommand(p.rulesTest())
	return c
}

func (p *program) rulesTest() *cobra.Command {
	return &cobra.Command{
		Use: "test [FILE...]", Short: "Hold the rules against files of cases; run nothing",
		Long: "Test asks the gates what would become of each case's call and compares what the rules say with what was\n" +
			"expected. A case names a tool, who calls it, its arguments, and allow, confirm or deny; with `line`, also the\n" +
			"rule that is to decide. Without a FILE it reads " + casesName + " beside the configuration. It exits 1 if a case\n" +
			"fails. Without a running host the adapters are started for the moment.",
		Example: "  toolwharf rules test\n  toolwharf rules test agents.yaml people.yaml --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, files []string) error {
			if len(files) == 0 {
				files = []string{filepath.Join(filepath.Dir(p.file), casesName)}
			}
			var cases []trial.Case
			var faults fault.List
			for _, f := range files {
				read, wrong := trial.Read(f)
				cases = append(cases, read...)
				faults.Add(wrong...)
			}
			if err := faults.Err(); err != nil {
				return err
			}
			return p.withHost(c, func(ctx context.Context, api control.API) error {
				results, err := trial.Hold(ctx, api, cases)
				if err != nil {
					return err
				}
				return p.showTrial(c, results)
			})
		},
	}
}

func (p *program) showTrial(c *cobra.Command, results []trial.Result) error {
	failed := 0
	for _, r := range results {
		if !r.Passed {
			failed++
		}
	}
	var err error
	if p.json {
		err = print(c, map[string]any{"cases": results, "passed": len(results) - failed, "failed": failed})
	} else {
		for _, r := range results {
			showCase(c.OutOrStdout(), r)
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%d of %d cases passed\n", len(results)-failed, len(results))
	}
	if err == nil && failed > 0 {
		err = failedError{}
	}
	return err
}

func showCase(w io.Writer, r trial.Result) {
	word, name := "ok  ", r.Name
	if !r.Passed {
		word = "FAIL"
	}
	if name == "" {
		name = r.Tool
	}
	_, _ = fmt.Fprintf(w, "%s %s:%d %s: %s\n", word, r.File, r.Line, printable(name), r.Expect)
	switch {
	case r.Passed:
	case r.Got == "" || r.Got == r.Expect:
		_, _ = fmt.Fprintf(w, "     %s\n", printable(r.Reason))
	default:
		_, _ = fmt.Fprintf(w, "     got %s: %s\n", r.Got, printable(r.Reason))
	}
}
