// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// OpenCounter opens the store of a configuration to decide approvals where no
// host runs. Whoever can open it is its operator.
func OpenCounter(ctx context.Context, c *config.Config, log hclog.Logger) (*control.Counter, func() error, error) {
	who, err := approvers(c)
	if err != nil {
		return nil, nil, err
	}
	vault, err := openVault(ctx, c, tool.NewID("cli_"), log)
	if err != nil {
		return nil, nil, err
	}
	desk := &approval.Desk{Store: vault.store, Self: c.Approval.Self, Approvers: who}
	closeCounter := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		return vault.close(ctx)
	}
	return &control.Counter{Desk: desk, Operator: operator()}, closeCounter, nil
}

// approvers say who of the operators may decide about a call; nil: all may.
func approvers(c *config.Config) (*rules.When, error) {
	if c.Approval.Approvers == "" {
		return nil, nil //nolint:nilnil // no condition is what there is
	}
	w, err := rules.NewWhen(c.Approval.Approvers)
	if err != nil {
		return nil, fmt.Errorf("approval.approvers %w", err)
	}
	return w, nil
}

// operator is the user that this process runs as.
func operator() tool.Principal { return tool.Principal{Kind: tool.Operator, Subject: localUser()} }
