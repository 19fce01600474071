// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/secret"
)

// waitingFor is why an adapter cannot be.
type waitingFor struct{ plugin, reason string }

// desire is the configuration times what lies in the directories.
func (r *Reconciler) desire(c *catalog.Contents) (desired map[string]*adapter.Desired, waiting map[string]*waitingFor, missing bool, notes []string) {
	desired, waiting = map[string]*adapter.Desired{}, map[string]*waitingFor{}
	notes = append(notes, c.Notes...)
	if r.config.Pins != nil {
		if fault := r.config.Pins.Fault(); fault != nil {
			notes = append(notes, "the lock does not count: "+fault.Error())
		}
	}
	prefixes := map[string]string{} // of adapters, by adapter
	named := map[string]bool{}      // plugins that an adapter names
	for _, a := range r.config.Adapters {
		prefixes[a.Name], named[a.Plugin] = a.Prefix, true
		d, why, lacks := r.configured(a, c)
		missing = missing || lacks
		if why != "" {
			waiting[a.Name] = &waitingFor{a.Plugin, why}
			continue
		}
		desired[a.Name] = d
	}
	for _, p := range c.Plugins {
		if !p.DropIn || named[p.Name] {
			continue
		}
		if _, taken := prefixes[p.Name]; taken {
			notes = append(notes, fmt.Sprintf("%s is left out: an adapter that runs another plugin is named %s", p.Path, p.Name))
			continue
		}
		prefix := p.Name + "_"
		if other, clash := extends(prefix, prefixes); clash {
			waiting[p.Name] = &waitingFor{p.Name, fmt.Sprintf(
				"its prefix %q and that of adapter %s begin alike; name it under adapters: with another prefix", prefix, other)}
			continue
		}
		prefixes[p.Name] = prefix
		program, refused := r.program(p)
		if refused != "" {
			waiting[p.Name] = &waitingFor{p.Name, refused}
			continue
		}
		desired[p.Name] = &adapter.Desired{
			Name: p.Name, Program: program, Prefix: prefix, Dir: r.config.Dir, Limits: r.config.DropIn,
		}
	}
	return desired, waiting, missing, notes
}

// extends reports whether one of the prefixes begins with prefix, or prefix
// with it: then a name could belong to either. The empty prefix is for those
// who know that it does not.
func extends(prefix string, prefixes map[string]string) (other string, clash bool) {
	for _, name := range slices.Sorted(maps.Keys(prefixes)) { // the same one each time
		if p := prefixes[name]; p != "" && (strings.HasPrefix(p, prefix) || strings.HasPrefix(prefix, p)) {
			return name, true
		}
	}
	return "", false
}

// configured is one adapter of the configuration, or why it cannot be.
func (r *Reconciler) configured(a Adapter, c *catalog.Contents) (d *adapter.Desired, why string, lacksSecret bool) {
	p, found := c.Find(a.Plugin)
	if !found {
		var dirs []string
		for _, dir := range r.config.Dirs {
			dirs = append(dirs, dir.Path)
		}
		return nil, fmt.Sprintf("there is no plugin %s in %s", a.Plugin, strings.Join(dirs, ", ")), false
	}
	program, refused := r.program(p)
	if refused != "" {
		return nil, refused, false
	}
	tree, absent, secrets, err := secret.ExpandTree(a.Config, r.config.Secrets)
	if err != nil {
		return nil, "config: " + err.Error(), false
	}
	env, lacks, more, err := r.environment(a.Env)
	if err != nil {
		return nil, err.Error(), false
	}
	absent = append(absent, lacks...)
	if len(absent) > 0 {
		var all []string
		for _, m := range absent {
			all = append(all, m.String())
		}
		return nil, "secret missing: " + strings.Join(all, ", "), true
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil, "config: " + err.Error(), false
	}
	r.tell(a.Name, append(secrets, more...))
	return &adapter.Desired{
		Name: a.Name, Program: program, Prefix: a.Prefix, Config: raw, Configured: true,
		MayAsk: a.MayAsk, AllowURLs: a.AllowURLs, PassPrincipal: a.PassPrincipal,
		Env: env, Dir: r.config.Dir, Limits: a.Limits, Sandbox: a.Sandbox, Terms: a.Terms, Locate: a.Locate,
	}, "", false
}

// environment expands the references in an adapter's variables.
func (r *Reconciler) environment(vars map[string]string) (env map[string]string, missing []secret.Missing, secrets []string, err error) {
	env = make(map[string]string, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		expanded, lacks, found, err := secret.ExpandTree(vars[name], r.config.Secrets)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("env.%s: %w", name, err)
		}
		env[name], _ = expanded.(string)
		missing, secrets = append(missing, lacks...), append(secrets, found...)
	}
	return env, missing, secrets, nil
}

// program is what is launched of a plugin, or why it may not be.
func (r *Reconciler) program(p catalog.Plugin) (program adapter.Program, refused string) {
	program = adapter.Program{Plugin: p.Name, Path: p.Path, Command: p.Command, Stamp: p.Stamp}
	if r.config.Pins != nil {
		program.Pin, refused = r.config.Pins.Program(p.Name, p.Command != nil)
	}
	return program, refused
}
