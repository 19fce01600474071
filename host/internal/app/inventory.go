// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/pin"
)

// Installed is one plugin that lies in the directories.
type Installed struct {
	pin.Program

	Name, Path string
	// Adapters that use it, sorted.
	Adapters []string
}

// Inventory looks into the directories, hashes what lies there and starts
// nothing. Notes are what was left out.
func Inventory(ctx context.Context, c *config.Config) (plugins []Installed, notes []string, err error) {
	contents := catalog.Scan(ctx, directories(c))
	for _, p := range contents.Plugins {
		i := Installed{Name: p.Name, Path: p.Path, Program: pin.Program{Folder: p.Command != nil}}
		if i.Hash, err = pin.Hash(p.Path, i.Folder); err != nil {
			return nil, nil, fmt.Errorf("plugin %s: %w", p.Name, err)
		}
		for _, a := range c.Adapters {
			if a.Plugin == p.Name {
				i.Adapters = append(i.Adapters, a.Name)
			}
		}
		if p.DropIn && i.Adapters == nil && !configured(c, p.Name) {
			i.Adapters = []string{p.Name}
		}
		plugins = append(plugins, i)
	}
	return plugins, contents.Notes, nil
}

// configured reports whether the configuration has an adapter of a name.
func configured(c *config.Config, name string) bool {
	for _, a := range c.Adapters {
		if a.Name == name {
			return true
		}
	}
	return false
}
