// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"path/filepath"

	"github.com/toolwharf/toolwharf/host/internal/adapter/life"
	"github.com/toolwharf/toolwharf/host/internal/adapter/reconcile"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/pin"
)

// LockPath is where the lock of a configuration lies.
func LockPath(c *config.Config) string { return filepath.Join(c.Dir, pin.FileName) }

// Pinned reports whether only what the lock names may run.
func Pinned(c *config.Config) bool { return c.Plugins.Trust == "pinned" }

// Sightings are what is known of tools where programs are not pinned.
func Sightings(c *config.Config) *pin.Sightings { return &pin.Sightings{Dir: c.State} }

// known is what programs and tools are held to.
type known struct {
	pins  reconcile.Pins // nil: programs are held to their directories
	specs life.Specs
	// follow tells of changes until ctx ends.
	follow func(ctx context.Context, changed func())
}

func newKnown(c *config.Config) known {
	if !Pinned(c) {
		s := Sightings(c)
		return known{specs: s, follow: func(ctx context.Context, changed func()) { pin.Follow(ctx, s.Path(), changed) }}
	}
	p := pin.NewPins(LockPath(c), checkTrust)
	return known{pins: p, specs: p, follow: func(ctx context.Context, changed func()) {
		pin.Follow(ctx, LockPath(c), func() {
			p.Reread()
			changed()
		})
	}}
}
