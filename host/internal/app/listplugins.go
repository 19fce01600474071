// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/pin"
)

// Listing is the plugins of a configuration.
type Listing struct {
	Plugins []Listed
	Notes   []string
}

// Listed is one plugin as an operator sees it.
type Listed struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Path string `json:"path,omitempty"`
	Hash string `json:"hash,omitempty"`
	// Pin is pinned, changed, unpinned or missing.
	Pin      string   `json:"pin"`
	Pinned   string   `json:"pinned_hash,omitempty"`
	Adapters []string `json:"adapters"`
}

// ListPlugins compares what lies in the directories with the lock, and starts
// nothing.
func ListPlugins(ctx context.Context, c *config.Config) (*Listing, error) {
	lock, err := lockOf(c)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		lock = pin.NewLock()
	}
	plugins, notes, err := Inventory(ctx, c)
	if err != nil {
		return nil, err
	}
	l := &Listing{Plugins: []Listed{}, Notes: notes}
	missing := lock.Clone().Plugins
	for _, i := range plugins {
		delete(missing, i.Name)
		one := Listed{
			Name: i.Name, Kind: i.Kind(), Path: i.Path, Hash: i.Hash.String(), Pin: "unpinned",
			Adapters: append([]string{}, i.Adapters...),
		}
		if pinned, known := lock.Plugins[i.Name]; known {
			one.Pin, one.Pinned = "pinned", pinned.Hash.String()
			if pinned != i.Program {
				one.Pin = "changed"
			}
		}
		l.Plugins = append(l.Plugins, one)
	}
	for name, pinned := range missing {
		l.Plugins = append(l.Plugins, Listed{
			Name: name, Kind: pinned.Kind(), Pin: "missing", Pinned: pinned.Hash.String(), Adapters: []string{},
		})
	}
	slices.SortFunc(l.Plugins, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}
