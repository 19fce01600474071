// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
)

// maxArgs is the longest arguments on the command line, in bytes.
const maxArgs = 1 << 20

func (p *program) tools() *cobra.Command {
	c := &cobra.Command{
		Use: "tools", Short: "See and call tools",
		Long: "Tools asks the running host of this configuration; without one, the adapters are started for the moment.",
	}
	c.AddCommand(p.toolsList(), p.toolsShow(), p.toolsCall(), p.toolsExport())
	return c
}

func (p *program) toolsList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tools", Args: cobra.NoArgs,
		Example: "  toolwharf tools list\n  toolwharf tools list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withHost(c, func(ctx context.Context, api control.API) error {
				tools, err := api.Tools(ctx)
				if err != nil {
					return err
				}
				if p.json {
					return print(c, tools)
				}
				rows := make([][]string, 0, len(tools))
				for _, t := range tools {
					rows = append(rows, []string{t.Name, t.Adapter, string(t.Effects), yesNo(t.Approval), firstLine(t.Description, 60)})
				}
				return table(c.OutOrStdout(), "TOOL\tADAPTER\tEFFECTS\tAPPROVAL\tDESCRIPTION", rows)
			})
		},
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (p *program) toolsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show one tool with its schemas", Args: cobra.ExactArgs(1),
		Example:           "  toolwharf tools show orders_query",
		ValidArgsFunction: p.completeTool,
		RunE: func(c *cobra.Command, args []string) error {
			return p.withHost(c, func(ctx context.Context, api control.API) error {
				tools, err := api.Tools(ctx)
				if err != nil {
					return err
				}
				for _, t := range tools {
					if t.Name == args[0] || t.Alias == args[0] {
						return p.showTool(c, t)
					}
				}
				return &control.NotFoundError{What: "tool", Name: args[0]}
			})
		},
	}
}

func (p *program) showTool(c *cobra.Command, t control.Tool) error {
	if p.json {
		return print(c, t)
	}
	w := c.OutOrStdout()
	rows := [][]string{
		{"name", t.Name},
		{"adapter", t.Adapter},
		{"declared as", t.Declared},
		{"effects", string(t.Effects)},
		{"idempotent", yesNo(t.Idempotent)},
		{"needs approval", yesNo(t.Approval)},
		{"digest", t.Digest},
	}
	if t.Alias != "" {
		rows = append(rows, []string{"also callable as", t.Alias})
	}
	if len(t.Tags) > 0 {
		rows = append(rows, []string{"tags", strings.Join(t.Tags, ", ")})
	}
	if err := table(w, "TOOL\t"+printable(t.Title), rows); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "\n%s\n\narguments:\n%s\n", printable(t.Description), indented(t.Input))
	if len(t.Output) > 0 {
		_, _ = fmt.Fprintf(w, "\nresult:\n%s\n", indented(t.Output))
	}
	return nil
}

func indented(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "none"
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(out)
}

func (p *program) toolsCall() *cobra.Command {
	var raw string
	var yes bool
	c := &cobra.Command{
		Use: "call NAME", Short: "Call a tool as the operator", Args: cobra.ExactArgs(1),
		Long: "Call runs one tool, through the same gates as any client's call, and records it in the ledger. The structured\n" +
			"result, or else its text, goes to stdout. A call that needs approval is asked about on a terminal, or approved\n" +
			"by --yes; either way the ledger names the operator.",
		Example: "  toolwharf tools call shop_query --args '{\"sql\": \"select 1\"}'\n" +
			"  toolwharf tools call shop_query --args @query.json\n" +
			"  echo '{\"sql\": \"select 1\"}' | toolwharf tools call shop_query --args -",
		ValidArgsFunction: p.completeTool,
		RunE: func(c *cobra.Command, args []string) error {
			body, err := arguments(raw, c.InOrStdin())
			if err != nil {
				return err
			}
			return p.withHost(c, func(ctx context.Context, api control.API) error {
				a, err := api.Call(ctx, args[0], body, control.Keys{})
				if err == nil && a.Pending != nil {
					a, err = p.decideOwn(c, api, args[0], body, a.Pending, yes)
				}
				if err != nil {
					return err
				}
				return p.showAnswer(c, a)
			})
		},
	}
	argsFlag(c, &raw)
	c.Flags().BoolVar(&yes, "yes", false, "approve the call, if it needs that")
	return c
}

// decideOwn decides a call that was typed here, as the operator who typed it,
// and runs it.
func (p *program) decideOwn(c *cobra.Command, api control.API, name string, body json.RawMessage, pending *control.Pending, yes bool) (*control.Answer, error) {
	ctx := c.Context()
	if !yes {
		if !isTerminal(c.InOrStdin()) {
			return nil, fmt.Errorf("%s needs approval: %s; decide it by `toolwharf approvals`, or call with --yes", name, pending.Approval)
		}
		a, err := api.Approval(ctx, pending.Approval)
		if err != nil {
			return nil, err
		}
		if err := p.showApproval(c, a); err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "\nrun it? [y/N] ")
		var answer string
		_, _ = fmt.Fscanln(c.InOrStdin(), &answer)
		yes = strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
	}
	if _, err := api.Decide(ctx, pending.Approval, control.Decision{Approve: yes}); err != nil {
		return nil, err
	}
	return api.Call(ctx, name, body, control.Keys{Run: pending.Run, Call: pending.Call})
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func argsFlag(c *cobra.Command, raw *string) {
	c.Flags().StringVar(raw, "args", "{}", "the arguments: `JSON`, @file, or - for stdin")
}

// arguments reads the value of --args.
func arguments(value string, stdin io.Reader) (json.RawMessage, error) {
	read := func(r io.Reader) (json.RawMessage, error) {
		b, err := io.ReadAll(io.LimitReader(r, maxArgs+1))
		if err == nil && len(b) > maxArgs {
			err = fmt.Errorf("larger than %d bytes", maxArgs)
		}
		if err != nil {
			return nil, &usageError{fmt.Errorf("--args: %w", err)}
		}
		return b, nil
	}
	switch file, isFile := strings.CutPrefix(value, "@"); {
	case value == "-":
		return read(stdin)
	case isFile:
		f, err := os.Open(file)
		if err != nil {
			return nil, &usageError{fmt.Errorf("--args: %w", err)}
		}
		defer func() { _ = f.Close() }()
		return read(f)
	default:
		return json.RawMessage(value), nil
	}
}

func (p *program) showAnswer(c *cobra.Command, a *control.Answer) error {
	if p.json {
		if err := print(c, a); err != nil {
			return err
		}
	}
	switch {
	case a.Error != nil && !p.json:
		showFailure(c.ErrOrStderr(), a.Error)
	case a.Pending != nil && !p.json:
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "toolwharf: approval required: %s\n", a.Pending.Approval)
	}
	if a.Error != nil || a.Pending != nil {
		return failedError{}
	}
	if p.json {
		return nil
	}
	w := c.OutOrStdout()
	if len(a.Structured) > 0 {
		_, err := fmt.Fprintf(w, "%s\n", a.Structured)
		return err
	}
	for _, b := range a.Content {
		if b.Text != "" {
			_, _ = fmt.Fprintln(w, b.Text)
			continue
		}
		_, _ = fmt.Fprintf(w, "[%s %s %s, %d bytes]\n", b.Type, b.MIMEType, printable(b.URI), b.Bytes)
	}
	return nil
}

func showFailure(w io.Writer, f *control.Failure) {
	_, _ = fmt.Fprintf(w, "toolwharf: %s", f.Kind)
	if f.Code != "" {
		_, _ = fmt.Fprintf(w, " (%s)", f.Code)
	}
	_, _ = fmt.Fprintf(w, ": %s\n", printable(f.Text))
	if f.Detail != "" {
		_, _ = fmt.Fprintf(w, "detail: %s\n", printable(f.Detail))
	}
}

func (p *program) toolsExport() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Export the tools for other APIs (not built yet)", Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return &usageError{errors.New("tools export is not built yet; `toolwharf tools list --json` has names and schemas")}
		},
	}
}

// completeTool completes tool names from a running host; it starts nothing.
func (p *program) completeTool(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	client := p.runningHost()
	if len(args) > 0 || client == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	tools, _ := client.Tools(c.Context())
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		names = append(names, t.Name+"\t"+firstLine(t.Description, 60))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
