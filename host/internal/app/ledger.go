// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"iter"

	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
)

// LedgerReader reads the ledger of a store, whether or not a host runs.
type LedgerReader interface {
	Rows(context.Context, ledger.Query) iter.Seq2[ledger.Row, error]
	// Tail is Rows and then each new row as it comes, until ctx ends.
	Tail(context.Context, ledger.Query) iter.Seq2[ledger.Row, error]
	Close() error
}

// OpenLedger opens the ledger of a configuration for reading. The error is
// fs.ErrNotExist if there is no store yet.
func OpenLedger(ctx context.Context, c *config.Config) (LedgerReader, error) {
	return sqlite.OpenReader(ctx, StorePath(c)) //nolint:wrapcheck // it names the store
}
