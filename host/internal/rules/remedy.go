// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// mostRemedies are named in one text.
const mostRemedies = 3

// remedy says what would let a denied call run: a rule that is about it and does not
// come to pass, or other effects of the tool. It is for the operator.
func (p *Rules) remedy(c *tool.Case, d decision) string {
	var out []string
	m := matcher{spec: c.Spec, who: &c.Principal}
	behind := false // the rule that denies
	for i := range p.rules {
		r := &p.rules[i]
		behind = behind || r == d.rule
		if _, named := m.named(r); !named || r.Verb == Deny || r == d.rule {
			continue
		}
		_, about := m.about(r)
		switch {
		case about && behind:
			out = append(out, fmt.Sprintf("line %d would %s it if it stood above line %d", r.Line, r.Verb, d.rule.Line))
		case len(r.conditions()) > 0:
			out = append(out, fmt.Sprintf("line %d would %s it %s", r.Line, r.Verb, strings.Join(r.conditions(), " ")))
		}
	}
	if e := p.milder(c); e != tool.EffectsUnset {
		out = append(out, fmt.Sprintf("with effects %s (adapters.%s.tools.%s.effects) it would not be denied", e, c.Spec.Adapter, c.Spec.Declared))
	}
	if len(out) == 0 {
		before := ""
		if d.rule != nil {
			before = fmt.Sprintf(" above line %d", d.rule.Line)
		}
		out = append(out, fmt.Sprintf("a rule%s that allows %s would let it run", before, c.Spec.Name))
	}
	return strings.Join(out[:min(len(out), mostRemedies)], "; ")
}

// milder are the effects with which a tool would not be denied.
func (p *Rules) milder(c *tool.Case) tool.Effects {
	if !c.Spec.Serves(tool.OpTool) {
		return tool.EffectsUnset
	}
	for _, e := range []tool.Effects{tool.ReadOnly, tool.Additive, tool.Destructive} {
		spec, other := *c.Spec, *c
		spec.Effects = e
		other.Spec = &spec
		if e != c.Spec.Effects.Effective() && p.decide(&other).verb != Deny {
			return e
		}
	}
	return tool.EffectsUnset
}
