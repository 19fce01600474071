// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func (p *program) explain() *cobra.Command {
	var raw, as string
	c := &cobra.Command{
		Use: "explain TOOL", Short: "Say what would happen to a call, and why; run nothing", Args: cobra.ExactArgs(1),
		Example: "  toolwharf explain shop_query --args '{\"sql\": \"select 1\"}'\n" +
			"  toolwharf explain shop_query --as '{\"client_id\": \"agent\", \"scopes\": [\"read\"]}'\n" +
			"  toolwharf explain shop_query --as stdio/local/ada",
		Long: "Explain asks the same gates that a call goes through, in the same order, and sends nothing. It exits 0\n" +
			"whatever they say. The caller is the operator, or whoever --as describes. A resource or a prompt is named as\n" +
			"rules name it: resources:URI, prompts:NAME.",
		ValidArgsFunction: p.completeTool,
		RunE: func(c *cobra.Command, args []string) error {
			body, err := arguments(raw, c.InOrStdin())
			if err != nil {
				return err
			}
			var caller *control.Caller
			if as != "" {
				if caller, err = control.ParseCaller(as); err != nil {
					return &usageError{fmt.Errorf("--as: %w", err)}
				}
			}
			return p.withHost(c, func(ctx context.Context, api control.API) error {
				e, err := api.Explain(ctx, args[0], body, caller)
				if err != nil {
					return err
				}
				if p.json {
					return print(c, e)
				}
				w := c.OutOrStdout()
				_, _ = fmt.Fprintf(w, "%s of adapter %s, %s\n", e.Tool, e.Adapter, e.Effects)
				for _, s := range e.Steps {
					_, _ = fmt.Fprintf(w, "  %-10s %-7s %s\n", s.Gate, s.Verdict, printable(s.Reason))
				}
				if e.Verdict == tool.Pass {
					_, _ = fmt.Fprintln(w, "it would be sent")
					return nil
				}
				if e.Verdict == tool.Ask {
					_, err = fmt.Fprintf(w, "it would wait for approval: %s\n", printable(e.Text))
					return err
				}
				_, err = fmt.Fprintf(w, "it would be refused: %s (%s): %s\n", e.Kind, e.Code, printable(e.Text))
				return err
			})
		},
	}
	argsFlag(c, &raw)
	c.Flags().StringVar(&as, "as", "", "the `caller`: JSON with kind, client_id, issuer, subject, scopes, claims, or a name such as anonymous")
	return c
}
