// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// everything is the one glob that matches whatever there is: tools, resources and
// prompts alike, so that a last rule that denies it leaves nothing open.
const everything = "*"

// Matches reports whether a glob matches a public name. * is any text without a
// slash, ** any text between slashes, and [a-z] and {a,b} are as in shells. What is
// no tool is named by its kind: "resources:file:///docs/**", "prompts:orders_*".
// The glob * by itself matches everything.
func Matches(glob, name string) bool {
	if glob == everything {
		return true
	}
	kind, rest := split(glob)
	of, own := split(name)
	return kind == of && doublestar.MatchUnvalidated(rest, own)
}

// split takes the kind from a name or a glob of what is no tool.
func split(name string) (kind, rest string) {
	if !tool.OfAnotherKind(name) {
		return "", name
	}
	kind, rest, _ = strings.Cut(name, ":")
	return kind, rest
}

// mostAlternatives is how many globs one with {a,b} may stand for: each of them is
// tried.
const mostAlternatives = 1000

// CheckGlob reports a glob that could match nothing, is none, or stands for too
// many.
func CheckGlob(glob string) error {
	if glob == "" || !doublestar.ValidatePattern(glob) {
		return fmt.Errorf("%q is no glob", glob)
	}
	all, open := 1, []int{}
	for _, c := range glob {
		switch {
		case c == '{':
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '}' && len(open) > 0:
			if all *= open[len(open)-1]; all > mostAlternatives {
				return fmt.Errorf("%q stands for more than %d globs", glob, mostAlternatives)
			}
			open = open[:len(open)-1]
		}
	}
	return nil
}
