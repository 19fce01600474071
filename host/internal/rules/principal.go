// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import "strings"

// anyMatches reports whether one of the globs matches one of the names that a
// principal goes by (tool.Principal.Names).
func anyMatches(globs, names []string) bool {
	for _, glob := range globs {
		for _, name := range names {
			if matches(glob, name) {
				return true
			}
		}
	}
	return false
}

// matches reports whether a glob matches a whole name. * stands for any text, a
// slash and nothing included: a rule for "*" is about everybody, and client ids
// that are URLs, or the brackets of a principal's whole form, stand as they are.
func matches(glob, name string) bool {
	first, rest, starred := strings.Cut(glob, "*")
	if !starred {
		return glob == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		var part string
		if part, rest, starred = strings.Cut(rest, "*"); !starred {
			return strings.HasSuffix(name, part)
		}
		_, after, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = after
	}
}
