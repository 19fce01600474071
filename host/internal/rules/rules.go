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

// Rule is one line of policy: a verb, what it is about, and conditions that all
// have to hold.
type Rule struct {
	Verb Verb
	// Names are globs of public names; see Matches.
	Names []string
	// Adapters and Tags, if there are any, are the only adapters, and the only tags
	// of tools, that the rule is about: one has to match. They are globs in which *
	// stands for any text.
	Adapters, Tags []string
	// Effects, if there are any, are the only ones that it is about.
	Effects []tool.Effects
	// Principals, if there are any, are the only callers that the rule is
	// about: globs of what they are called by (matches).
	Principals []string
	// Scopes, if there are any, are what the caller's token has to grant, every one.
	// A caller who lacks some goes on to the rules behind; if none is about the call,
	// it is denied, whatever the defaults are. An operator has all.
	Scopes []string
	// When, if not empty, is what has to be true, in CEL; see When.
	When string
	// Line is where it stands in the operator's file, 0 if nowhere.
	Line int
}

// Defaults decide what no rule matches. A tool's own confirm: true is lowered
// by a rule only.
type Defaults struct{ ReadOnly, Additive, Destructive Verb }

// of is the default for tools with some effects.
func (d Defaults) of(e tool.Effects) Verb {
	switch e {
	case tool.ReadOnly:
		return d.ReadOnly
	case tool.Additive:
		return d.Additive
	case tool.Destructive, tool.EffectsUnset:
	}
	return d.Destructive
}

// usual are the defaults unless the operator says otherwise.
var usual = Defaults{ReadOnly: Allow, Additive: Confirm, Destructive: Confirm}

// Rules judges calls. It is immutable.
type Rules struct {
	rules    []rule
	defaults Defaults
	// said is what is said where a default holds, by the effects that it is for.
	said map[tool.Effects]string
}

// rule is a Rule that is ready to be applied.
type rule struct {
	Rule

	when *When    // nil: always
	said []string // that it matches, by its globs
}

// New returns a policy. An empty verb of d stands for the usual one: read_only
// is allowed, the rest is confirmed. The error names a bad glob or condition.
func New(list []Rule, d Defaults) (*Rules, error) {
	p := &Rules{rules: make([]rule, len(list)), defaults: d}
	for i, r := range list {
		p.rules[i].Rule = r
		for _, glob := range r.Names {
			if err := CheckGlob(glob); err != nil {
				return nil, fmt.Errorf("line %d: %w", r.Line, err)
			}
		}
		if r.When != "" {
			var err error
			if p.rules[i].when, err = NewWhen(r.When); err != nil {
				return nil, fmt.Errorf("line %d: when %w", r.Line, err)
			}
		}
		p.rules[i].says()
	}
	fill := func(v *Verb, usual Verb) {
		if *v == "" {
			*v = usual
		}
	}
	fill(&p.defaults.ReadOnly, usual.ReadOnly)
	fill(&p.defaults.Additive, usual.Additive)
	fill(&p.defaults.Destructive, usual.Destructive)
	p.said = map[tool.Effects]string{}
	for _, e := range []tool.Effects{tool.ReadOnly, tool.Additive, tool.Destructive} {
		p.said[e] = fmt.Sprintf("no rule matches, and the default for %s is %s", e, p.defaults.of(e))
	}
	return p, nil
}

// Name returns "rules".
func (*Rules) Name() string { return "rules" }

// Judge applies the first rule that matches the tool's public name and whose
// conditions hold, else the tool's own wish, else the defaults.
func (p *Rules) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) {
	d := p.decide(c)
	if d.verb == Deny {
		why := d.why
		if !d.fault {
			why += "; " + p.remedy(c, d)
		}
		err := tool.Errorf(tool.Denied, "denied_by_rule", "%s is not allowed here", c.Spec.Name)
		err.Detail = why
		v := tool.Refused(why, err)
		v.Line = d.line()
		return v, nil
	}
	confirm := d.verb != Allow
	v := tool.Passed(d.why)
	v.Confirm, v.Line = &confirm, d.line()
	return v, nil
}

// Visible reports whether a principal may know of a tool: whether some call of
// it could run, or wait for somebody's decision. An operator knows of all.
func (p *Rules) Visible(who tool.Principal, s *tool.Spec) bool {
	_, hidden := p.hides(&who, s)
	return !hidden
}

// Hides says for the operator why a principal may not know of a tool, and by which
// line, 0 if by a default; empty if it may.
func (p *Rules) Hides(who tool.Principal, s *tool.Spec) (why string, line int) {
	by, hidden := p.hides(&who, s)
	switch {
	case !hidden:
		return "", 0
	case by == nil:
		return p.byDefault(s).why, 0
	case by.Verb != Deny && len(by.Scopes) > 0 && !who.Has(by.Scopes...):
		return by.said[0] + ", which the caller lacks", by.Line
	case by.when != nil:
		return by.said[0] + ", or it cannot be judged", by.Line
	}
	return by.said[0], by.Line
}

// hides reports whether no call of a principal could run or wait, and which rule
// sees to that; nil: the defaults.
func (p *Rules) hides(who *tool.Principal, s *tool.Spec) (by *rule, hidden bool) {
	if who.Kind == tool.Operator {
		return nil, false
	}
	m := matcher{spec: s, who: who}
	var unmet *rule
	for i := range p.rules {
		r := &p.rules[i]
		if _, ok := m.about(r); !ok {
			continue
		}
		could := r.could(who, s)
		switch {
		case could == never, could == some && r.Verb == Deny:
		case could == fails:
			return r, true
		case !m.granted(r):
			if unmet == nil && could == always && r.Verb != Deny {
				unmet = r
			}
		default:
			return r, r.Verb == Deny
		}
	}
	if unmet != nil {
		return unmet, true
	}
	return nil, p.byDefault(s).verb == Deny
}

// could says of which calls of a tool by a principal the rule's condition could hold.
func (r *rule) could(who *tool.Principal, s *tool.Spec) could {
	if r.when == nil {
		return always
	}
	return r.when.could(who, s)
}

// Lacks are the scopes with which a principal could know of a tool that is hidden
// from it; none: it is not hidden, or scopes would not help.
func (p *Rules) Lacks(who tool.Principal, s *tool.Spec) []string {
	if _, hidden := p.hides(&who, s); !hidden {
		return nil
	}
	m := matcher{spec: s, who: &who}
	for i := range p.rules {
		r := &p.rules[i]
		if _, ok := m.about(r); !ok {
			continue
		}
		could := r.could(&who, s)
		switch {
		case could == never:
		case could == fails:
			return nil
		case m.granted(r):
			if r.Verb == Deny && could == always {
				return nil
			}
		case r.Verb != Deny:
			return r.Scopes
		}
	}
	return nil
}

// decision is what the policy says of a call.
type decision struct {
	verb  Verb
	rule  *rule // nil: no rule matches
	why   string
	fault bool // its condition cannot be judged
}

func (d decision) line() int {
	if d.rule == nil {
		return 0
	}
	return d.rule.Line
}

// decide finds what the policy says of a call. A condition that cannot be judged
// denies, whatever its rule: nobody knows what it would have said.
func (p *Rules) decide(c *tool.Case) decision {
	m := matcher{spec: c.Spec, who: &c.Principal}
	var unmet *rule
	for i := range p.rules {
		r := &p.rules[i]
		glob, ok := m.about(r)
		if !ok {
			continue
		}
		if r.when != nil {
			holds, err := r.when.Holds(c)
			if err != nil {
				why := fmt.Sprintf("rule on line %d: when %s cannot be judged, which denies: %v", r.Line, r.when.text, err)
				return decision{Deny, r, why, true}
			}
			if !holds {
				continue
			}
		}
		if !m.granted(r) {
			if unmet == nil && r.Verb != Deny {
				unmet = r
			}
			continue
		}
		return decision{verb: r.Verb, rule: r, why: r.said[glob]}
	}
	if unmet != nil {
		why := fmt.Sprintf("rule on line %d: %s needs the scopes %s, which the caller lacks", unmet.Line, unmet.Verb, strings.Join(unmet.Scopes, ", "))
		return decision{verb: Deny, rule: unmet, why: why}
	}
	return p.byDefault(c.Spec)
}

// says puts in words that the rule matches. Each call is told why, so it is done
// once.
func (r *rule) says() {
	conditions := ""
	if words := r.conditions(); len(words) > 0 {
		conditions = " " + strings.Join(words, " ")
	}
	for _, glob := range r.Names {
		r.said = append(r.said, fmt.Sprintf("rule on line %d: %s %s%s", r.Line, r.Verb, glob, conditions))
	}
}

// conditions are the rule's, in words.
func (r *rule) conditions() (words []string) {
	list := func(word string, of []string) {
		if len(of) > 0 {
			words = append(words, word+" "+strings.Join(of, ", "))
		}
	}
	list("of adapters", r.Adapters)
	effects := make([]string, len(r.Effects))
	for i, e := range r.Effects {
		effects[i] = string(e)
	}
	list("with effects", effects)
	list("with tags", r.Tags)
	list("for", r.Principals)
	list("with scopes", r.Scopes)
	if r.when != nil {
		words = append(words, "when "+r.when.text)
	}
	return words
}

// byDefault is what holds where no rule matches: the defaults, under what the tool
// and its operator say of confirming it.
func (p *Rules) byDefault(s *tool.Spec) decision {
	verb := p.defaults.of(s.Effects.Effective())
	switch {
	case s.Confirm != nil && *s.Confirm && verb == Allow:
		return decision{verb: Confirm, why: "no rule matches, and the tool asks to be confirmed"}
	case s.Excused && verb == Confirm:
		return decision{verb: Allow, why: "no rule matches, and the configuration of the tool says that it needs no confirmation"}
	case s.Effects == tool.EffectsUnset:
		return decision{verb: verb, why: "no rule matches, and the tool does not declare its effects, so they count as destructive: " + string(verb)}
	}
	return decision{verb: verb, why: p.said[s.Effects.Effective()]}
}
