// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Known is what there is to be called, as far as it is known before a call.
type Known struct {
	// Adapters are all of them.
	Adapters []string
	// Specs are the tools that are known, under their public names. Tags and Input
	// are looked at only if Whole.
	Specs []tool.Spec
	Whole bool
	// Open are adapters of whose tools only the prefix is known, as clients see it.
	Open map[string]string
}

// Remark is something about a rule that is most likely not meant.
type Remark struct {
	// Rule is its index.
	Rule int
	Text string
}

// Review finds rules that can never decide anything: because what they are about is
// not there, or because a rule above them decides it all.
func Review(list []Rule, k Known) (remarks []Remark) {
	remark := func(i int, format string, args ...any) {
		remarks = append(remarks, Remark{i, fmt.Sprintf(format, args...)})
	}
	tries := maxTries
	for i, r := range list {
		if above := slices.IndexFunc(list[:i], func(above Rule) bool { return above.covers(r) }); above >= 0 {
			remark(i, "never decides: the rule on line %d matches all that it matches", list[above].Line)
			continue
		}
		if why := k.misses(r); why != "" {
			remark(i, "never matches: %s", why)
			continue
		}
		unheard := k.unheard(r)
		for _, arg := range unheard {
			remark(i, "when looks at args.%s, which no tool has that the rule is about", arg)
		}
		if len(unheard) == 0 {
			for _, text := range k.misfits(list[:i], r, &tries) {
				remark(i, "%s", text)
			}
		}
	}
	return remarks
}

// covers reports whether a rule matches all that another one does. It is careful:
// globs are compared by how they begin.
func (r Rule) covers(other Rule) bool {
	return within(other.Adapters, r.Adapters) && within(other.Effects, r.Effects) && within(other.Tags, r.Tags) &&
		within(other.Principals, r.Principals) && whole(r.Scopes, other.Scopes) && (r.When == "" || r.When == other.When) &&
		!slices.ContainsFunc(other.Names, func(glob string) bool {
			return !slices.ContainsFunc(r.Names, func(mine string) bool { return globCovers(mine, glob, r.Verb) })
		})
}

// whole reports whether all of some scopes are among others.
func whole(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// within reports whether a condition lets through no more than another one.
func within[T comparable](inner, outer []T) bool {
	if len(outer) == 0 {
		return true
	}
	return len(inner) > 0 && !slices.ContainsFunc(inner, func(v T) bool { return !slices.Contains(outer, v) })
}

// globCovers reports whether whatever matches inner is sure to match outer in a rule
// with a verb.
func globCovers(outer, inner string, verb Verb) bool {
	if outer == everything {
		return true
	}
	kind, out := split(outer)
	of, in := split(inner)
	switch {
	case inner == everything || kind != of:
		return false
	case kind != "" && verb == Allow: // another spelling may not be allowed
		return false
	case outer == inner:
		return true
	}
	start := plainStart(in)
	if start == in {
		return Matches(outer, inner)
	}
	p := plainStart(out)
	switch rest := out[len(p):]; {
	case !strings.HasPrefix(start, p):
		return false
	case rest == "**":
		return p == "" || strings.HasSuffix(p, "/")
	default:
		return rest == "*" && kind == ""
	}
}

// plainStart is what a glob begins with before anything special.
func plainStart(glob string) string {
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		return glob[:i]
	}
	return glob
}

// misses says why a rule is about nothing that there is; empty if it may be.
func (k *Known) misses(r Rule) string {
	if len(k.Adapters) == 0 { // there is nothing yet that rules could be about
		return ""
	}
	if len(r.Adapters) > 0 && !slices.ContainsFunc(k.Adapters, func(a string) bool { return anyMatches(r.Adapters, []string{a}) }) {
		return "there is no adapter " + strings.Join(r.Adapters, ", ")
	}
	for _, glob := range r.Names {
		if k.mayMatch(glob, r) {
			return ""
		}
	}
	what := "no tool or adapter is known that " + strings.Join(r.Names, ", ") + " matches"
	if words := (&rule{Rule: r}).conditions(); len(words) > 0 {
		what += ", " + strings.Join(words, " ")
	}
	return what
}

// mayMatch reports whether a glob of a rule may match something.
func (k *Known) mayMatch(glob string, r Rule) bool {
	if tool.OfAnotherKind(glob) {
		return true // nothing is known of resources and prompts
	}
	if slices.ContainsFunc(k.Specs, func(s tool.Spec) bool { return Matches(glob, s.Name) && k.about(&s, r) }) {
		return true
	}
	start := plainStart(glob)
	for name, prefix := range k.Open {
		if (strings.HasPrefix(start, prefix) || strings.HasPrefix(prefix, start)) &&
			(len(r.Adapters) == 0 || anyMatches(r.Adapters, []string{name})) {
			return true
		}
	}
	return glob == everything && len(r.Effects)+len(r.Tags)+len(r.Adapters) == 0
}

// about reports whether a rule is about a tool, whoever calls it.
func (k *Known) about(s *tool.Spec, r Rule) bool {
	r.Principals = nil
	if !k.Whole {
		r.Tags = nil
	}
	_, ok := (&matcher{spec: s}).about(&rule{Rule: r})
	return ok
}

// unheard are the arguments that a condition looks at and no tool has that the rule
// is about.
func (k *Known) unheard(r Rule) (args []string) {
	if r.When == "" || !k.Whole || len(k.Open) > 0 {
		return nil
	}
	w, err := NewWhen(r.When)
	if err != nil {
		return nil
	}
	for _, arg := range w.Args() {
		if !slices.ContainsFunc(k.Specs, func(s tool.Spec) bool { return k.about(&s, r) && takes(s.Input, arg) }) {
			args = append(args, arg)
		}
	}
	return args
}

const (
	// maxTries is how many conditions are held against tools' types in all.
	maxTries = 500
	// maxMisfits are told of one rule.
	maxMisfits = 5
)

// misfits are what of a condition does not fit the tools that the rule decides about.
func (k *Known) misfits(above []Rule, r Rule, tries *int) (texts []string) {
	if r.When == "" || !k.Whole {
		return nil
	}
	w, err := NewWhen(r.When)
	if err != nil {
		return nil
	}
	for _, s := range k.Specs {
		decided := func(other Rule) bool { return other.When == "" && len(other.Principals) == 0 && k.about(&s, other) }
		if !k.about(&s, r) || slices.ContainsFunc(above, decided) {
			continue
		}
		if *tries--; *tries < 0 || len(texts) == maxMisfits {
			break
		}
		if text := w.misfit(&s); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// takes reports whether a tool's schema has an argument, or does not say.
func takes(input json.RawMessage, arg string) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Patterns   map[string]json.RawMessage `json:"patternProperties"`
		Ref        string                     `json:"$ref"`
		All        []json.RawMessage          `json:"allOf"`
		Any        []json.RawMessage          `json:"anyOf"`
		One        []json.RawMessage          `json:"oneOf"`
	}
	if json.Unmarshal(input, &s) != nil || len(s.Properties) == 0 {
		return true
	}
	_, has := s.Properties[arg]
	return has || len(s.Patterns) > 0 || s.Ref != "" || len(s.All)+len(s.Any)+len(s.One) > 0
}
