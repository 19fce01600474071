// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Terms are what the operator says of an adapter's tools: which of them are
// served, and what holds of them whatever they say of themselves. They change
// without a restart.
type Terms struct {
	// Include and Exclude are globs of declared names. What Exclude matches is not
	// served; no Include includes everything.
	Include, Exclude []string
	// Tools are by declared name.
	Tools map[string]Override
}

// Override is what the operator says of one tool; what is unset is the tool's own.
type Override struct {
	Effects             tool.Effects
	Idempotent, Confirm *bool
	// Tags come beside those of the tool.
	Tags []string
}

// Digest is what two equal ones share.
func (t *Terms) Digest() tool.Digest {
	var s strings.Builder
	_, _ = fmt.Fprintf(&s, "%q %q", t.Include, t.Exclude)
	flag := func(b *bool) string {
		if b == nil {
			return "unset"
		}
		return fmt.Sprint(*b)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Tools)) {
		o := t.Tools[name]
		_, _ = fmt.Fprintf(&s, " %q %q %s %s %q", name, o.Effects, flag(o.Idempotent), flag(o.Confirm), o.Tags)
	}
	return tool.DigestOf([]byte(s.String()))
}

// Hold takes out of tools what is not served and makes the others what the terms
// say, leaving the given ones as they are. Under several terms the strictest of
// each claim holds. Notes are what the newest terms say in vain: the first ones.
func Hold(tools []tool.Spec, terms ...Terms) (served []tool.Spec, notes []string) {
	for _, spec := range tools {
		fit := true
		var held *tool.Spec
		for i := range terms {
			fit = fit && terms[i].serves(spec.Declared)
			held = stricter(held, terms[i].over(spec))
		}
		if fit {
			served = append(served, *held)
		}
	}
	return served, terms[0].vain(tools)
}

func (t *Terms) serves(declared string) bool {
	matches := func(glob string) bool { return rules.Matches(glob, declared) }
	return (len(t.Include) == 0 || slices.ContainsFunc(t.Include, matches)) && !slices.ContainsFunc(t.Exclude, matches)
}

// over is what a spec comes to.
func (t *Terms) over(spec tool.Spec) *tool.Spec {
	o := t.Tools[spec.Declared]
	if o.Effects != tool.EffectsUnset {
		spec.Effects = o.Effects
	}
	if o.Idempotent != nil {
		spec.Idempotent = *o.Idempotent
	}
	if o.Confirm != nil {
		spec.Confirm, spec.Excused = o.Confirm, !*o.Confirm
	}
	spec.Tags = slices.Clone(spec.Tags)
	for _, tag := range o.Tags {
		if !slices.Contains(spec.Tags, tag) {
			spec.Tags = append(spec.Tags, tag)
		}
	}
	return &spec
}

// stricter makes of two forms of one spec one that claims no more than either. a
// may be nil.
func stricter(a, b *tool.Spec) *tool.Spec {
	if a == nil {
		return b
	}
	if a.Effects.Harm() > b.Effects.Harm() {
		b.Effects = a.Effects
	}
	b.Idempotent = b.Idempotent && a.Idempotent
	b.Excused = b.Excused && a.Excused
	if wariness(a.Confirm) > wariness(b.Confirm) {
		b.Confirm = a.Confirm
	}
	for _, tag := range a.Tags {
		if !slices.Contains(b.Tags, tag) {
			b.Tags = append(b.Tags, tag)
		}
	}
	return b
}

func wariness(confirm *bool) int {
	switch {
	case confirm == nil:
		return 1
	case *confirm:
		return 2
	}
	return 0
}

// vain is what the terms say that is about no tool: a slip of the pen, or a tool
// that was renamed and is not any more what the operator wanted it to be.
func (t *Terms) vain(tools []tool.Spec) (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(t.Tools)) {
		if !slices.ContainsFunc(tools, func(s tool.Spec) bool { return s.Declared == name }) {
			notes = append(notes, fmt.Sprintf("tools.%s says something of a tool that it does not declare", name))
		}
	}
	for key, globs := range map[string][]string{"include": t.Include, "exclude": t.Exclude} {
		for _, glob := range globs {
			if !slices.ContainsFunc(tools, func(s tool.Spec) bool { return rules.Matches(glob, s.Declared) }) {
				notes = append(notes, fmt.Sprintf("%s: %s matches no tool that it declares", key, glob))
			}
		}
	}
	slices.Sort(notes)
	return Few(notes)
}
