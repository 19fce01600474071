// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// matcher holds what rules are matched with, as far as they ask for it: most ask
// for little.
type matcher struct {
	spec *tool.Spec
	who  *tool.Principal

	names     []string // of who
	spelled   bool
	spellings []string // of the spec's name
}

// about reports whether a rule is about a tool and a caller, and which of
// its globs matches.
// What its condition says of the call is another matter.
func (m *matcher) about(r *rule) (glob int, ok bool) {
	if glob, ok = m.named(r); !ok {
		return 0, false
	}
	ok = (len(r.Adapters) == 0 || anyMatches(r.Adapters, []string{m.spec.Adapter})) &&
		(len(r.Effects) == 0 || slices.Contains(r.Effects, m.spec.Effects.Effective())) &&
		(len(r.Tags) == 0 || anyMatches(r.Tags, m.spec.Tags)) &&
		(len(r.Principals) == 0 || anyMatches(r.Principals, m.called()))
	return glob, ok
}

// granted reports whether the caller has the scopes of a rule.
func (m *matcher) granted(r *rule) bool {
	return len(r.Scopes) == 0 || m.who.Kind == tool.Operator || m.who.Has(r.Scopes...)
}

// called is what the caller is called by.
func (m *matcher) called() []string {
	if m.names == nil {
		m.names = m.who.Names()
	}
	return m.names
}

// named finds the glob that matches the public name. What a resource may be called
// by as well counts for what it is safe to count for: it takes one spelling to be
// denied or confirmed, and all of them to be allowed.
func (m *matcher) named(r *rule) (glob int, ok bool) {
	if !m.spelled {
		m.spelled, m.spellings = true, spellings(m.spec.Name)
	}
	if glob, ok = first(r.Names, m.spec.Name); ok == (r.Verb != Allow) {
		return glob, ok
	}
	for _, s := range m.spellings {
		if other, ok := first(r.Names, s); ok == (r.Verb != Allow) {
			return other, ok
		}
	}
	return glob, ok
}

// first finds the index of the first glob that matches a name.
func first(globs []string, name string) (glob int, ok bool) {
	for i, glob := range globs {
		if Matches(glob, name) {
			return i, true
		}
	}
	return 0, false
}
