// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"fmt"
	"maps"
	"slices"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// maxTemplates is how many families of resources hosts take.
const maxTemplates = 100

// catalogue is everything that a plugin offers at one moment. It is not changed
// once it is published; a change is made to a copy.
type catalogue struct {
	tools     []*tool
	resources []*resource
	templates []*resource
	prompts   []*prompt

	// By name, URI and template.
	tool     map[string]*tool
	resource map[string]*resource
	template map[string]*resource
	prompt   map[string]*prompt
}

func newCatalogue() *catalogue {
	return &catalogue{
		tool: map[string]*tool{}, resource: map[string]*resource{}, template: map[string]*resource{}, prompt: map[string]*prompt{},
	}
}

func (c *catalogue) clone() *catalogue {
	return &catalogue{
		slices.Clone(c.tools), slices.Clone(c.resources), slices.Clone(c.templates), slices.Clone(c.prompts),
		maps.Clone(c.tool), maps.Clone(c.resource), maps.Clone(c.template), maps.Clone(c.prompt),
	}
}

// features are those that the catalogue itself needs.
func (c *catalogue) features() map[Feature]bool {
	subscribable := func(r *resource) bool { return r.subscribable }
	return map[Feature]bool{
		FeatureTools:     len(c.tools) > 0,
		FeatureResources: len(c.resources)+len(c.templates) > 0,
		FeatureSubscriptions: slices.ContainsFunc(c.resources, subscribable) ||
			slices.ContainsFunc(c.templates, subscribable),
		FeaturePrompts: len(c.prompts) > 0,
		FeatureCompletion: slices.ContainsFunc(c.templates, func(r *resource) bool { return len(r.completers) > 0 }) ||
			slices.ContainsFunc(c.prompts, func(p *prompt) bool { return len(p.completers) > 0 }),
	}
}

// within says whether the host takes as much as there is.
func (c *catalogue) within(l Limits) error {
	if l.MaxTools <= 0 {
		return nil
	}
	for _, kind := range []struct {
		name    string
		n, most int
	}{
		{"tools", len(c.tools), l.MaxTools},
		{"resources", len(c.resources), l.MaxTools},
		{"resource templates", len(c.templates), min(maxTemplates, l.MaxTools)},
		{"prompts", len(c.prompts), l.MaxTools},
	} {
		if kind.n > kind.most {
			return fmt.Errorf("%d %s are more than the %d that the host takes", kind.n, kind.name, kind.most)
		}
	}
	return nil
}

func (c *catalogue) wire() *pluginv1.Catalog {
	out := new(pluginv1.Catalog)
	for _, t := range c.tools {
		out.Tools = append(out.Tools, t.decl)
	}
	for _, r := range c.resources {
		out.Resources = append(out.Resources, r.fixed)
	}
	for _, r := range c.templates {
		out.ResourceTemplates = append(out.ResourceTemplates, r.family)
	}
	for _, p := range c.prompts {
		out.Prompts = append(out.Prompts, p.decl)
	}
	return out
}

// reads is the resource that a URI means, and the values of its variables. A fixed
// URI comes before templates, and those in the order in which they were added.
func (c *catalogue) reads(uri string) (*resource, map[string]string) {
	if r := c.resource[uri]; r != nil {
		return r, nil
	}
	for _, r := range c.templates {
		if values, ok := r.pattern.Match(uri); ok {
			return r, values
		}
	}
	return nil, nil
}
