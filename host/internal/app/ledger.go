// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// LedgerReader reads the ledger of a store, whether or not a host runs.
type LedgerReader interface {
	ledger.Source

	Rows(context.Context, ledger.Query) iter.Seq2[ledger.Row, error]
	// Newest is the newest row's Seq, 0 if there is none.
	Newest(context.Context) (int64, error)
	// Tail is Rows and then each new row as it comes, until ctx ends.
	Tail(context.Context, ledger.Query) iter.Seq2[ledger.Row, error]
	Close() error
}

// OpenLedger opens the ledger of a configuration for reading. The error is
// fs.ErrNotExist if there is no store yet.
func OpenLedger(ctx context.Context, c *config.Config) (LedgerReader, error) {
	return sqlite.OpenReader(ctx, StorePath(c))
}

// LedgerKeyPath is where the key lies with which the hosts of a configuration
// sign the ledger. The public half is beside it, with ".pub".
func LedgerKeyPath(c *config.Config) string { return filepath.Join(c.State, "ledger.key") }

// DigestKeyPath is where the key of the ledger's digests of arguments lies.
func DigestKeyPath(c *config.Config) string { return filepath.Join(c.State, "digest.key") }

// LedgerVerifier knows the public keys in the files, or, if there are none, that
// of the configuration.
func LedgerVerifier(c *config.Config, files []string) (*ledger.Verifier, error) {
	if len(files) == 0 {
		files = []string{LedgerKeyPath(c)}
	}
	v, err := ledger.LoadVerifier(files...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; give the public key of the host that signed with --key", err)
	}
	return v, err
}

// PruneLedger removes old rows; r has no Signer and no Trust yet: they are those
// of the configuration. It returns how many rows it has removed.
func PruneLedger(ctx context.Context, c *config.Config, r ledger.Retention, log hclog.Logger) (removed int64, err error) {
	if _, err := os.Stat(StorePath(c)); err != nil {
		return 0, err // nothing is made to be pruned
	}
	v, err := openVault(ctx, c, tool.NewID("cli_"), log)
	if err != nil {
		return 0, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err = errors.Join(err, v.close(closing))
	}()
	r.Signer = v.signer
	r.Trust.Keys = ledger.NewVerifier(v.signer.Public())
	r.By = operator().String()
	return ledger.Prune(ctx, v.store, r)
}
