// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store/spool"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// vault is a store with what guards it: the keys, which lie beside it and not
// in it, and the spool for what it cannot take.
type vault struct {
	store *sqlite.Store
	spool *spool.Journal
	// key is what origins of tools are keyed with, and with keyer digests.
	key   []byte
	keyer *ledger.Keyer
	// signer signs the chain.
	signer *ledger.Signer
}

// StorePath is where the store of a configuration lies.
func StorePath(c *config.Config) string { return filepath.Join(c.State, "toolwharf.db") }

// openVault opens the store of a configuration as one host instance, and makes
// what is missing. host names the instance in the ledger.
func openVault(ctx context.Context, c *config.Config, host string, log hclog.Logger) (*vault, error) {
	if err := os.MkdirAll(c.State, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := checkState(c.State, log); err != nil {
		return nil, err
	}
	signer, err := ledger.LoadOrCreateSigner(LedgerKeyPath(c))
	if err != nil {
		return nil, fmt.Errorf("signing key of the ledger: %w", err)
	}
	key, err := ledger.LoadOrCreateKey(DigestKeyPath(c))
	if err != nil {
		return nil, fmt.Errorf("key of the ledger's digests: %w", err)
	}
	v := &vault{key: key, keyer: ledger.NewKeyer(key), signer: signer}
	logger := telemetry.Slog(log.Named("store"))
	v.spool, err = spool.New(filepath.Join(c.State, "spool"), spool.Options{
		Host: host, Log: logger,
		Alive: func(ctx context.Context, host string) (bool, error) { return v.store.Alive(ctx, host) },
	})
	if err != nil {
		return nil, err
	}
	v.store, err = sqlite.Open(ctx, StorePath(c), sqlite.Options{
		Host: host, Receivers: receivers(c), Signer: signer, Lease: lease(), Log: logger, Spill: v.spool.Spill,
		Digest: func(args []byte) tool.Digest {
			j, err := tool.ParseArgs(args)
			if err != nil {
				return tool.Digest{}
			}
			return v.keyer.Digest(j.Digest())
		},
	})
	if err != nil {
		return nil, err
	}
	v.spool.Start(ctx, v.store)
	return v, nil
}

// checkState refuses a state directory in which others could put keys and a store of
// their own, and warns of one that they can look into. A new one is neither.
func checkState(dir string, log hclog.Logger) error {
	if runtime.GOOS == "windows" {
		return nil // which has no such modes
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o022 != 0:
		return fmt.Errorf("state directory: %s can be written by others (mode %04o): chmod 700 it, once what is in it was looked at", dir, mode)
	case mode&0o077 != 0:
		log.Warn("state directory can be entered by others", "path", dir, "mode", fmt.Sprintf("%04o", mode), "do", "chmod 700 "+dir)
	}
	return nil
}

// health says why the store does not take rows, nil if it does.
func (v *vault) health() error {
	if health := v.store.Health(); health.Err != nil {
		return health.Err
	}
	return nil
}

// close flushes and closes.
func (v *vault) close(ctx context.Context) error {
	return errors.Join(v.spool.Stop(ctx), v.store.Close(ctx))
}
