// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"fmt"
	"maps"
	"slices"
)

// Change is one difference between two locks.
type Change struct {
	// What is "plugin" or "tool"; Name a plugin's, or ADAPTER/TOOL.
	What string `json:"what"`
	Name string `json:"name"`
	// Was and Now are empty for what is not there.
	Was string `json:"was,omitempty"`
	Now string `json:"now,omitempty"`
	// How it changed, for people.
	How string `json:"how"`
}

// String is the change on one line.
func (c Change) String() string {
	mark := "~"
	switch {
	case c.Was == "":
		mark = "+"
	case c.Now == "":
		mark = "-"
	}
	return fmt.Sprintf("%s %s %s: %s", mark, c.What, c.Name, c.How)
}

// Diff is what is different, sorted: plugins first.
func Diff(before, after *Lock) []Change {
	return append(DiffPlugins(before, after), DiffTools(before, after)...)
}

// DiffPlugins is what is different in plugins.
func DiffPlugins(before, after *Lock) []Change {
	var changes []Change
	for _, name := range union(before.Plugins, after.Plugins) {
		was, old := before.Plugins[name]
		now, fresh := after.Plugins[name]
		c := Change{What: "plugin", Name: name}
		switch {
		case old && fresh && was == now:
			continue
		case !old:
			c.Now = now.String()
			c.How = c.Now
		case !fresh:
			c.Was, c.How = was.String(), "gone"
		default:
			c.Was, c.Now = was.String(), now.String()
			c.How = c.Was + " -> " + c.Now
		}
		changes = append(changes, c)
	}
	return changes
}

// String is the program as a diff has it.
func (p Program) String() string { return p.Kind() + " " + p.Hash.String() }

// DiffTools is what is different in the adapters' tools.
func DiffTools(before, after *Lock) []Change {
	var changes []Change
	for _, adapter := range union(before.Adapters, after.Adapters) {
		changes = append(changes, before.Adapters[adapter].diff(adapter, after.Adapters[adapter])...)
	}
	return changes
}

func (before Tools) diff(adapter string, after Tools) []Change {
	var changes []Change
	for _, name := range union(before, after) {
		was, old := before[name]
		now, fresh := after[name]
		c := Change{What: "tool", Name: adapter + "/" + name}
		switch {
		case old && fresh && was == now:
			continue
		case !old:
			c.Now = now.Claims()
			c.How = c.Now
		case !fresh:
			c.Was, c.How = was.Claims(), "gone"
		default:
			c.Was, c.Now, c.How = was.Claims(), now.Claims(), was.Changes(now)
		}
		changes = append(changes, c)
	}
	return changes
}

func union[V any](a, b map[string]V) []string {
	all := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
