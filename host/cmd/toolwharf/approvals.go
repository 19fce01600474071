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
	"time"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
)

// counter is where approvals are decided: a running host, or the store.
type counter interface {
	Approvals(ctx context.Context, status string) ([]control.Approval, error)
	Approval(ctx context.Context, id string) (*control.Approval, error)
	Decide(ctx context.Context, id string, d control.Decision) (*control.Approval, error)
}

func (p *program) approvals() *cobra.Command {
	c := &cobra.Command{
		Use: "approvals", Short: "Decide about calls that need approval",
		Long: "Approvals works on the store of this configuration, whether or not a host runs. Whoever can open it decides as\n" +
			"the operator, and the ledger says so. With --host it asks a host elsewhere over HTTP, as the bearer of --token.",
	}
	c.AddCommand(p.approvalsList(), p.approvalsShow(), p.approvalsDecide(true), p.approvalsDecide(false))
	return c
}

// withCounter calls f with the host elsewhere that --host names, with the running
// host, or with the store.
func (p *program) withCounter(c *cobra.Command, f func(context.Context, counter) error) error {
	if p.host != "" || p.token != "" {
		remote, err := p.remote()
		if err != nil {
			return &usageError{err}
		}
		return f(c.Context(), remote)
	}
	log := p.quietLog(c)
	client, err := control.Dial(config.StateOf(p.file))
	switch {
	case err == nil:
		return f(c.Context(), client)
	case !errors.Is(err, control.ErrNoHost):
		return err
	}
	cfg, err := p.load(log)
	if err != nil {
		return err
	}
	k, closeCounter, err := app.OpenCounter(c.Context(), cfg, log)
	if err != nil {
		return err
	}
	return errors.Join(f(c.Context(), k), closeCounter())
}

// maxTokenFile bounds the file of a token, in bytes.
const maxTokenFile = 16 << 10

// remote is the host of --host.
func (p *program) remote() (*control.Remote, error) {
	if p.host == "" || p.token == "" {
		return nil, errors.New("--host and --token go together")
	}
	token := p.token
	if name, isFile := strings.CutPrefix(token, "@"); isFile {
		raw, err := readAtMost(name, maxTokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token: %w", err)
		}
		token = strings.TrimSpace(string(raw))
	}
	remote, err := control.NewRemote(p.host, token)
	if err != nil {
		return nil, fmt.Errorf("--host %s: %w", p.host, err)
	}
	return remote, nil
}

func readAtMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func (p *program) approvalsList() *cobra.Command {
	var status string
	c := &cobra.Command{
		Use: "list", Short: "List approvals, newest first", Args: cobra.NoArgs,
		Example: "  toolwharf approvals list\n  toolwharf approvals list --status all --json\n" +
			"  toolwharf approvals list --host https://tools.example.com --token @operator.token",
		RunE: func(c *cobra.Command, _ []string) error {
			switch status {
			case "all":
				status = ""
			case "pending", "approved", "denied", "used", "expired", "withdrawn":
			default:
				return &usageError{fmt.Errorf("--status %q: it is pending, approved, denied, used, expired, withdrawn or all", status)}
			}
			return p.withCounter(c, func(ctx context.Context, k counter) error {
				list, err := k.Approvals(ctx, status)
				if err != nil {
					return err
				}
				if p.json {
					return print(c, list)
				}
				rows := make([][]string, 0, len(list))
				for _, a := range list {
					rows = append(rows, []string{
						a.ID, a.Status, a.Tool, a.Principal, until(a.Expires), firstLine(string(a.Args), 60),
					})
				}
				return table(c.OutOrStdout(), "APPROVAL\tSTATUS\tTOOL\tASKED BY\tEXPIRES\tARGUMENTS", rows)
			})
		},
	}
	c.Flags().StringVar(&status, "status", "pending", "only those that are pending, approved, denied, used, expired, withdrawn; or all")
	return c
}

// until says how long there is, for people.
func until(t time.Time) string {
	left := time.Until(t).Round(time.Second)
	if left <= 0 {
		return "over"
	}
	return "in " + left.String()
}

func (p *program) approvalsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one approval with its complete arguments", Args: cobra.ExactArgs(1),
		Example:           "  toolwharf approvals show apr_...",
		ValidArgsFunction: p.completeApproval,
		RunE: func(c *cobra.Command, args []string) error {
			return p.withCounter(c, func(ctx context.Context, k counter) error {
				a, err := k.Approval(ctx, args[0])
				if err != nil {
					return err
				}
				return p.showApproval(c, a)
			})
		},
	}
}

func (p *program) showApproval(c *cobra.Command, a *control.Approval) error {
	if p.json {
		return print(c, a)
	}
	rows := [][]string{
		{"status", a.Status},
		{"tool", a.Tool + " of adapter " + a.Adapter},
		{"effects", string(a.Effects)},
		{"asked by", a.Principal},
		{"because", a.Why},
		{"run", a.Run},
		{"call", a.Call},
		{"asked at", a.Created.Format(time.RFC3339)},
		{"expires", a.Expires.Format(time.RFC3339)},
	}
	if a.Decided != nil {
		rows = append(rows, []string{"decided", a.Decided.Format(time.RFC3339) + " by " + a.DecidedBy})
	}
	if a.Reason != "" {
		rows = append(rows, []string{"reason", a.Reason})
	}
	if err := table(c.OutOrStdout(), "APPROVAL\t"+a.ID, rows); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(c.OutOrStdout(), "\narguments:\n%s\n", shownArgs(a.Args))
	if len(a.Edited) > 0 {
		_, _ = fmt.Fprintf(c.OutOrStdout(), "\nrun instead:\n%s\n", shownArgs(a.Edited))
	}
	return nil
}

func shownArgs(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "(no longer kept)"
	}
	return approval.Readable(raw)
}

func (p *program) approvalsDecide(approve bool) *cobra.Command {
	var d control.Decision
	var raw string
	c := &cobra.Command{
		Use: "deny ID", Short: "Deny a call", Args: cobra.ExactArgs(1),
		Example:           "  toolwharf approvals deny apr_... --reason 'not on a Friday'",
		ValidArgsFunction: p.completeApproval,
		RunE: func(c *cobra.Command, args []string) error {
			d.Approve = approve
			if c.Flags().Changed("args") {
				edited, err := arguments(raw, c.InOrStdin())
				if err != nil {
					return err
				}
				d.Edited = edited
			}
			return p.withCounter(c, func(ctx context.Context, k counter) error {
				a, err := k.Decide(ctx, args[0], d)
				if err != nil {
					return err
				}
				if p.json {
					return print(c, a)
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s of %s is %s\n", a.ID, a.Tool, a.Principal, a.Status)
				return err
			})
		},
	}
	c.Flags().StringVar(&d.Reason, "reason", "", "why, in one line: the caller is told, and the ledger")
	if approve {
		c.Use, c.Short = "approve ID", "Approve a call, once"
		c.Long = "Approve lets exactly this call run, once, when its caller comes back for it. With --args it runs with other\n" +
			"arguments; they are validated and judged by the rules as any others."
		c.Example = "  toolwharf approvals approve apr_...\n  toolwharf approvals approve apr_... --args '{\"amount\": 5}' --reason 'half of it'"
		c.Flags().StringVar(&raw, "args", "", "run with these arguments instead: `JSON`, @file, or - for stdin")
	}
	return c
}

// completeApproval completes the ids of what is pending at a running host.
func (p *program) completeApproval(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	client := p.runningHost()
	if len(args) > 0 || client == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := client.Approvals(c.Context(), "pending")
	ids := make([]string, 0, len(list))
	for _, a := range list {
		ids = append(ids, a.ID+"\t"+a.Tool)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
