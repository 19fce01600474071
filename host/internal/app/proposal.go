// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/pin"
)

// Proposal is a lock that an operator is asked to accept: first the programs,
// and only when those are accepted, and so may be started, their tools.
type Proposal struct {
	config   *config.Config
	before   *pin.Lock // the lock, and what else is known
	after    *pin.Lock
	whole    bool            // everything is meant
	selected map[string]bool // adapters
	start    *pin.Lock       // the plugins of those
	// Notes are what was left out of the directories.
	Notes []string
}

// Propose proposes to pin everything that lies in the directories, or only the
// plugins and adapters of some names.
func Propose(ctx context.Context, c *config.Config, names []string) (*Proposal, error) {
	lock, err := lockOf(c)
	if err != nil {
		return nil, err
	}
	p := &Proposal{config: c, whole: len(names) == 0, selected: map[string]bool{}, start: pin.NewLock()}
	if lock == nil {
		lock = pin.NewLock()
	}
	p.before, p.after = lock, lock.Clone()
	var plugins []Installed
	if plugins, p.Notes, err = Inventory(ctx, c); err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(plugins, func(i Installed) bool { return i.named(name) }) {
			return nil, &control.NotFoundError{What: "plugin", Name: name}
		}
	}
	for _, i := range plugins {
		p.choose(i, names)
	}
	if p.whole { // what is gone goes
		maps.DeleteFunc(p.after.Plugins, func(name string, _ pin.Program) bool { _, there := p.start.Plugins[name]; return !there })
		maps.DeleteFunc(p.after.Adapters, func(name string, _ pin.Tools) bool { return !p.selected[name] })
	}
	return p, p.recall()
}

// named reports whether a plugin, or an adapter that uses it, has a name.
func (i Installed) named(name string) bool {
	return i.Name == name || slices.Contains(i.Adapters, name)
}

// choose takes a plugin, and those of its adapters that are meant, if it is
// meant itself or by one of them.
func (p *Proposal) choose(i Installed, names []string) {
	whole := len(names) == 0 || slices.Contains(names, i.Name)
	if !whole && !slices.ContainsFunc(names, i.named) {
		return
	}
	p.start.Plugins[i.Name], p.after.Plugins[i.Name] = i.Program, i.Program
	for _, a := range i.Adapters {
		if whole || slices.Contains(names, a) {
			p.selected[a] = true
		}
	}
}

// recall makes what tools are compared with what a host holds them to: without
// pins that is what was seen of them.
func (p *Proposal) recall() error {
	if Pinned(p.config) {
		return nil
	}
	seen, err := Sightings(p.config).Known()
	if err != nil {
		return err
	}
	p.before = p.before.Clone()
	for name, tools := range seen.Adapters {
		if p.selected[name] {
			p.before.Adapters[name] = tools
		}
	}
	return nil
}

// Programs are the changes of programs.
func (p *Proposal) Programs() []pin.Change { return pin.DiffPlugins(p.before, p.after) }

// Tools are the changes of tools, once they were looked at.
func (p *Proposal) Tools() []pin.Change { return pin.DiffTools(p.before, p.after) }

// Look starts the adapters for the moment and looks at their tools. Problems
// are the adapters that did not start: their tools stay pinned as they were.
func (p *Proposal) Look(ctx context.Context, log hclog.Logger) ([]Problem, error) {
	tools, failed, err := survey(ctx, p.config, p.start, log)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		if p.whole || p.selected[name] {
			problems = append(problems, failed[name])
		}
	}
	for name, said := range tools {
		if _, broken := failed[name]; p.selected[name] && !broken {
			p.after.Adapters[name] = said
		}
	}
	return problems, nil
}

// Accept writes the lock, and makes what the tools say what is known of them.
func (p *Proposal) Accept() error {
	accepted := map[string]pin.Tools{}
	for name := range p.selected {
		if tools, ok := p.after.Adapters[name]; ok {
			accepted[name] = tools
		}
	}
	var err error
	if !Pinned(p.config) {
		err = Sightings(p.config).Accept(accepted)
	}
	return errors.Join(err, pin.Write(LockPath(p.config), p.after, 0o644))
}
