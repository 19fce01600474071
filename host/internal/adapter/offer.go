// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// MaxTools is how many tools one adapter may have.
const MaxTools = 1000

// declaredName is what a tool may be called by its adapter (MCP 2026-07-28,
// server/tools, Tool Names).
var declaredName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

const (
	maxTitle       = 256
	maxDescription = 16 << 10
)

// Offers makes a catalogue fit for the registry: public names, sealed specs,
// compiled schemas. What is at fault is left out and named in notes; it costs the
// others nothing. origin is Desired.Origin; schemas may be nil.
func Offers(d *Desired, c Catalog, origin tool.Digest, schemas *schema.Shared) (offers []*registry.Offer, notes []string) {
	l := &list{taken: map[string]string{}, desired: d, origin: origin, schemas: schemas}
	each(l, "tool", MaxTools, c.Tools, func(s tool.Spec) string { return s.Declared }, l.tool)
	each(l, "resource", MaxResources, c.Resources, uriOf, l.resource)
	each(l, "resource template", MaxFamilies, c.Families, uriOf, l.family)
	each(l, "prompt", MaxPrompts, c.Prompts, func(p tool.Prompt) string { return p.Name }, l.prompt)
	return l.offers, append(append(Few(l.notes), l.limits...), Few(c.Notes)...)
}

// list collects what is offered and notes what is not.
type list struct {
	desired *Desired
	origin  tool.Digest
	schemas *schema.Shared
	taken   map[string]string // what was declared, by public name
	offers  []*registry.Offer
	notes   []string // of what is at fault
	limits  []string // of what is too many
}

// each adds what an adapter declares of one kind.
func each[T any](l *list, kind string, most int, declared []T, name func(T) string, fit func(T) (*registry.Offer, error)) {
	for i, item := range declared {
		if i == most {
			l.limits = append(l.limits, fmt.Sprintf("%d %ss left out: one adapter may have %d", len(declared)-i, kind, most))
			return
		}
		o, err := fit(item)
		if err != nil {
			l.notes = append(l.notes, fmt.Sprintf("%s %.128q left out: %v", kind, name(item), err))
			continue
		}
		if first, dup := l.taken[o.Spec.Name]; dup {
			l.notes = append(l.notes, fmt.Sprintf("%s %.128q left out: its public name %.160s is that of %.128q", kind, name(item), o.Spec.Name, first))
			continue
		}
		l.taken[o.Spec.Name] = name(item)
		o.Origin, o.MayAsk, o.AllowURLs = l.origin, l.desired.MayAsk, l.desired.AllowURLs
		o.Limits = registry.Limits{Timeout: l.desired.Limits.Timeout, MaxInFlight: l.desired.Limits.MaxInFlight}
		l.offers = append(l.offers, o)
	}
}

func (l *list) tool(spec tool.Spec) (*registry.Offer, error) {
	if !declaredName.MatchString(spec.Declared) {
		return nil, fmt.Errorf("a tool's name has 1 to 128 of A-Z a-z 0-9 _ . -")
	}
	if err := wordy(spec.Title, spec.Description); err != nil {
		return nil, err
	}
	o := &registry.Offer{}
	var err error
	if o.Input, err = l.schemas.Compile(spec.Input, schema.Input); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if len(spec.Output) > 0 {
		if o.Output, err = l.schemas.Compile(spec.Output, schema.Output); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	spec.Adapter = l.desired.Name
	spec.Name, o.Alias = registry.PublicName(l.desired.Prefix, spec.Declared)
	spec.Title = strings.ToValidUTF8(spec.Title, "\uFFFD")
	spec.Description = strings.ToValidUTF8(spec.Description, "\uFFFD")
	spec.Seal()
	o.Spec = spec
	return o, nil
}
