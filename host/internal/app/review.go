// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/pin"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ReviewRules warns of rules that can never decide anything. It starts nothing: the
// tools are those of a running host, or those that were seen or pinned; of adapters
// of which nothing is known, it is the prefix. name is what the file is called; host
// is nil if none runs.
func ReviewRules(ctx context.Context, name string, c *config.Config, host control.API) (fault.List, error) {
	if len(c.Rules) == 0 {
		return nil, nil
	}
	known, err := seenTools(ctx, c)
	if host != nil {
		known, err = runningTools(ctx, known, host)
	}
	if err != nil {
		return nil, err
	}
	var warnings fault.List
	for _, r := range rules.Review(ruleList(c), known) {
		warnings.Add(fault.Fault{
			File: name, Path: fmt.Sprintf("rules[%d]", r.Rule), Line: c.Rules[r.Rule].Line, Summary: r.Text, Warning: true,
		})
	}
	return warnings, nil
}

// seenTools are the adapters of a configuration, and what is known of their tools.
func seenTools(ctx context.Context, c *config.Config) (rules.Known, error) {
	k := rules.Known{Open: map[string]string{}}
	lock, err := knownLock(c)
	if err != nil {
		return k, err
	}
	add := func(name, prefix string, terms adapter.Terms) {
		k.Adapters = append(k.Adapters, name)
		tools, seen := lock.Adapters[name]
		if !seen && !Pinned(c) {
			k.Open[name], _ = registry.PublicName(prefix, "")
			return
		}
		var specs []tool.Spec
		for declared, f := range tools {
			spec := tool.Spec{Adapter: name, Declared: declared}
			f.Apply(&spec)
			spec.Name, _ = registry.PublicName(prefix, declared)
			specs = append(specs, spec)
		}
		served, _ := adapter.Hold(specs, terms)
		k.Specs = append(k.Specs, served...)
	}
	used := map[string]bool{}
	for _, a := range c.Adapters {
		used[a.Plugin] = true
		add(a.Name, a.Prefix, terms(a))
	}
	for _, s := range c.Servers {
		if !s.Disabled {
			add(s.Name, s.Prefix, adapter.Terms{})
		}
	}
	for _, p := range catalog.Scan(ctx, directories(c)).Plugins {
		if p.DropIn && !used[p.Name] && !configured(c, p.Name) {
			add(p.Name, p.Name+"_", adapter.Terms{})
		}
	}
	return k, nil
}

// knownLock is what is pinned, or what was seen.
func knownLock(c *config.Config) (*pin.Lock, error) {
	if !Pinned(c) {
		return Sightings(c).Known()
	}
	lock, err := lockOf(c)
	if lock == nil {
		lock = pin.NewLock()
	}
	return lock, err
}

// runningTools puts the tools of a running host in the place of those that were
// seen.
func runningTools(ctx context.Context, seen rules.Known, host control.API) (rules.Known, error) {
	adapters, err := host.Adapters(ctx)
	if err != nil {
		return seen, err
	}
	tools, err := host.Tools(ctx)
	if err != nil {
		return seen, err
	}
	k := rules.Known{Whole: true, Open: map[string]string{}}
	for _, a := range adapters {
		k.Adapters = append(k.Adapters, a.Name)
		if a.State != string(adapter.Ready) {
			k.Open[a.Name], _ = registry.PublicName(a.Prefix, "")
		}
	}
	for _, t := range tools {
		k.Specs = append(k.Specs, tool.Spec{
			Name: t.Name, Adapter: t.Adapter, Declared: t.Declared, Effects: t.Effects, Tags: t.Tags, Input: t.Input,
		})
	}
	return k, nil
}
