// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// OpenCounter opens the store of a configuration to decide approvals where no
// host runs. Whoever can open it is its operator.
func OpenCounter(ctx context.Context, c *config.Config, log hclog.Logger) (*control.Counter, func() error, error) {
	vault, err := openVault(ctx, c, tool.NewID("cli_"), log)
	if err != nil {
		return nil, nil, err
	}
	desk := &approval.Desk{Store: vault.store, Self: c.Approval.Self}
	closeCounter := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		return vault.close(ctx)
	}
	return &control.Counter{Desk: desk, Operator: operator()}, closeCounter, nil
}

// operator is the user that this process runs as.
func operator() tool.Principal { return tool.Principal{Kind: tool.Operator, Subject: localUser()} }
