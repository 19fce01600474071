// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules is the operator's policy: an ordered list in which the first
// match wins, and defaults by a tool's effects where none does.
package rules

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Verb is what a rule says.
type Verb string

// The verbs.
const (
	// Allow: the call runs without anybody's decision.
	Allow Verb = "allow"
	// Confirm: somebody has to decide.
	Confirm Verb = "confirm"
	// Deny: the call does not run.
	Deny Verb = "deny"
)

// Rule is one line of policy.
type Rule struct {
	Verb Verb
	// Names are globs of public names; see Matches.
	Names []string
	// Principals, if there are any, are the only callers that the rule is
	// about: globs of what they are called by (matches).
	Principals []string
	// Line is where it stands in the operator's file, 0 if nowhere.
	Line int
}

// Defaults decide what no rule matches. A tool's own confirm: true is lowered
// by a rule only.
type Defaults struct{ ReadOnly, Additive, Destructive Verb }

// usual are the defaults unless the operator says otherwise.
var usual = Defaults{ReadOnly: Allow, Additive: Confirm, Destructive: Confirm}

// Rules judges calls. It is immutable.
type Rules struct {
	rules    []Rule
	defaults Defaults
}

// New returns a policy. An empty verb of d stands for the usual one: read_only
// is allowed, the rest is confirmed. The error names a bad glob.
func New(list []Rule, d Defaults) (*Rules, error) {
	for _, r := range list {
		for _, glob := range r.Names {
			if err := CheckGlob(glob); err != nil {
				return nil, fmt.Errorf("line %d: %w", r.Line, err)
			}
		}
	}
	fill := func(v *Verb, usual Verb) {
		if *v == "" {
			*v = usual
		}
	}
	fill(&d.ReadOnly, usual.ReadOnly)
	fill(&d.Additive, usual.Additive)
	fill(&d.Destructive, usual.Destructive)
	return &Rules{rules: list, defaults: d}, nil
}

// Name returns "rules".
func (*Rules) Name() string { return "rules" }

// Judge applies the first rule that matches the tool's public name, else the
// tool's own wish, else the defaults.
func (p *Rules) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) {
	verb, why := p.Verb(c.Spec, c.Principal)
	if verb == Deny {
		return tool.Refused(why, tool.Errorf(tool.Denied, "denied_by_rule", "%s is not allowed here", c.Spec.Name)), nil
	}
	confirm := verb != Allow
	v := tool.Passed(why)
	v.Confirm = &confirm
	return v, nil
}

// Visible reports whether a principal may know of a tool: whether some call of
// it could run, or wait for somebody's decision. An operator knows of all.
func (p *Rules) Visible(who tool.Principal, s *tool.Spec) bool {
	if who.Kind == tool.Operator {
		return true
	}
	r, _ := p.first(s, who)
	if r == nil {
		return p.byDefault(s) != Deny
	}
	return r.Verb != Deny
}

// Verb is what the policy says of a principal's calls of a tool, and why.
func (p *Rules) Verb(s *tool.Spec, who tool.Principal) (Verb, string) {
	if r, glob := p.first(s, who); r != nil {
		why := fmt.Sprintf("rule on line %d: %s %s", r.Line, r.Verb, glob)
		if len(r.Principals) > 0 {
			why += " for " + strings.Join(r.Principals, ", ")
		}
		return r.Verb, why
	}
	verb := p.byDefault(s)
	if s.Confirm != nil && *s.Confirm && verb == Allow {
		return Confirm, "no rule matches, and the tool asks to be confirmed"
	}
	if s.Excused && verb == Confirm {
		return Allow, "no rule matches, and the configuration of the tool says that it needs no confirmation"
	}
	why := fmt.Sprintf("no rule matches, and the default for %s is %s", s.Effects.Effective(), verb)
	if s.Effects == tool.EffectsUnset {
		why = fmt.Sprintf("no rule matches, and the tool does not declare its effects, so they count as destructive: %s", verb)
	}
	return verb, strings.TrimSpace(why)
}

// first returns the first rule that matches and by which glob, nil if none does.
func (p *Rules) first(s *tool.Spec, who tool.Principal) (r *Rule, glob string) {
	var names []string // of who; most policies need none
	for i := range p.rules {
		r := &p.rules[i]
		glob, ok := named(r.Names, s.Name)
		if !ok {
			continue
		}
		if len(r.Principals) == 0 {
			return r, glob
		}
		if names == nil {
			names = who.Names()
		}
		if anyMatches(r.Principals, names) {
			return r, glob
		}
	}
	return nil, ""
}

// byDefault is what the defaults say of a tool.
func (p *Rules) byDefault(s *tool.Spec) Verb {
	switch s.Effects.Effective() {
	case tool.ReadOnly:
		return p.defaults.ReadOnly
	case tool.Additive:
		return p.defaults.Additive
	case tool.Destructive, tool.EffectsUnset:
	}
	return p.defaults.Destructive
}

// named finds the glob that matches a public name.
func named(globs []string, name string) (glob string, ok bool) {
	for _, glob := range globs {
		if Matches(glob, name) {
			return glob, true
		}
	}
	return "", false
}
