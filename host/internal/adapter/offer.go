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
// compiled schemas. A tool that is at fault is left out and named in notes; it
// costs the others nothing. origin is Desired.Origin.
func Offers(d *Desired, c Catalog, origin tool.Digest) (offers []*registry.Offer, notes []string) {
	taken := map[string]string{}
	for i := range c.Tools {
		if len(offers) == MaxTools {
			notes = append(notes, fmt.Sprintf("%d tools left out: one adapter may have %d", len(c.Tools)-i, MaxTools))
			break
		}
		o, err := offer(d, c.Tools[i])
		if err != nil {
			notes = append(notes, fmt.Sprintf("tool %.128q left out: %v", c.Tools[i].Declared, err))
			continue
		}
		if first, dup := taken[o.Spec.Name]; dup {
			notes = append(notes, fmt.Sprintf("tool %q left out: its public name %s is that of %q", o.Spec.Declared, o.Spec.Name, first))
			continue
		}
		taken[o.Spec.Name] = o.Spec.Declared
		o.Origin, o.MayAsk = origin, d.MayAsk
		offers = append(offers, o)
	}
	return offers, append(notes, c.Notes...)
}

func offer(d *Desired, spec tool.Spec) (*registry.Offer, error) {
	if !declaredName.MatchString(spec.Declared) {
		return nil, fmt.Errorf("a tool's name has 1 to 128 of A-Z a-z 0-9 _ . -")
	}
	if len(spec.Title) > maxTitle || len(spec.Description) > maxDescription {
		return nil, fmt.Errorf("its title or description is longer than %d or %d bytes", maxTitle, maxDescription)
	}
	o := &registry.Offer{Limits: registry.Limits{Timeout: d.Limits.Timeout, MaxInFlight: d.Limits.MaxInFlight}}
	var err error
	if o.Input, err = schema.Compile(spec.Input, schema.Input); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if len(spec.Output) > 0 {
		if o.Output, err = schema.Compile(spec.Output, schema.Output); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	spec.Adapter = d.Name
	spec.Name, o.Alias = registry.PublicName(d.Prefix, spec.Declared)
	spec.Title = strings.ToValidUTF8(spec.Title, "\uFFFD")
	spec.Description = strings.ToValidUTF8(spec.Description, "\uFFFD")
	spec.Seal()
	o.Spec = spec
	return o, nil
}
