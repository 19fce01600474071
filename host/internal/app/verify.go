// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/pin"
)

// Verification is how what is installed differs from the lock.
type Verification struct {
	Lock     string       `json:"lock"`
	Plugins  int          `json:"plugins"`
	Tools    int          `json:"tools"`
	Changes  []pin.Change `json:"changes"`
	Problems []Problem    `json:"problems"`
	// Notes are what was left out of the directories.
	Notes []string `json:"notes,omitempty"`
}

// Verify compares the lock with the programs in the directories and, starting
// those that are as pinned for the moment, with what their tools say. Plugins
// that no adapter uses do not count.
func Verify(ctx context.Context, c *config.Config, log hclog.Logger) (*Verification, error) {
	lock, err := lockOf(c)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, fmt.Errorf("there is no %s: run `toolwharf plugins pin`", LockPath(c))
	}
	v := &Verification{Lock: LockPath(c), Changes: []pin.Change{}, Problems: []Problem{}}
	plugins, notes, err := Inventory(ctx, c)
	if err != nil {
		return nil, err
	}
	v.Notes = notes
	now, start := pin.NewLock(), pin.NewLock()
	used := map[string]bool{} // adapters, and whether they can be looked at
	for _, i := range plugins {
		pinned, known := lock.Plugins[i.Name]
		if known || len(i.Adapters) > 0 {
			now.Plugins[i.Name] = i.Program
		}
		sound := known && pinned == i.Program
		if sound {
			start.Plugins[i.Name] = i.Program
			v.Plugins++
		}
		for _, a := range i.Adapters {
			used[a] = sound
		}
	}
	tools, failed, err := survey(ctx, c, start, log)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		if sound, installed := used[name]; sound || !installed {
			v.Problems = append(v.Problems, failed[name])
		}
	}
	for name, pinned := range lock.Adapters {
		if sound, here := used[name]; here && (!sound || failed[name].Adapter != "") {
			now.Adapters[name] = pinned // what cannot be looked at was said already
		}
	}
	for name, said := range tools {
		now.Adapters[name] = said
		v.Tools += len(said)
	}
	v.Changes = append(v.Changes, pin.Diff(lock, now)...)
	return v, nil
}
