// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// finding is one thing that is wrong with a value.
type finding struct {
	class class
	// path leads to the value, for missing and unknown ones to where it would
	// be or is.
	path []string
	// types and choices, if set, are what the value must be; needs is what
	// else must be said of it.
	types   []string
	choices []any
	needs   string
}

// class orders findings: what is missing and what is misspelled belong together
// and explain the rest.
type class int

const (
	missing class = iota
	unknown
	wrong
)

// words are how a value is spoken of.
type words struct {
	// part and whole name a part of the value and all of it.
	part, whole string
	// discreet: what the value holds is not told.
	discreet bool
}

func wordsOf(k Kind) words {
	switch k {
	case Output:
		return words{part: "field", whole: "the result", discreet: true}
	case Config:
		return words{part: "key", whole: "the configuration", discreet: true}
	default:
		return words{part: "argument", whole: "the arguments"}
	}
}

// tell says what is wrong with value.
func (w words) tell(f finding, value any) string {
	name := w.part + ` "` + spell(f.path, value) + `"`
	switch f.class {
	case missing:
		return "missing " + name + f.needs
	case unknown:
		return "unknown " + name + f.needs
	default:
		if len(f.path) == 0 {
			return w.whole + " " + f.predicate(value, w.discreet)
		}
		return name + ": " + f.predicate(value, w.discreet)
	}
}

// predicate says what the value at f's path must be, and what it is.
func (f finding) predicate(value any, discreet bool) string {
	needs := f.needs
	switch {
	case f.types != nil:
		needs = "must be " + types(f.types)
	case len(f.choices) == 1:
		needs = "must be " + show(f.choices[0])
	case f.choices != nil:
		needs = "must be one of " + list(f.choices, show)
	}
	v, ok := find(f.path, value)
	switch {
	case !ok:
		return needs
	case !discreet:
		return needs + ", is " + show(v)
	case f.types != nil:
		return needs + ", is " + types([]string{typeName(v)})
	default:
		return needs
	}
}

// render tells findings, at most MaxFindings of them, and how many more there
// are; with cut there are more than were made.
func (w words) render(findings []finding, value any, cut bool) string {
	slices.SortStableFunc(findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.class, b.class), comparePaths(a.path, b.path))
	})
	var lines []string
	for _, f := range findings {
		if line := w.tell(f, value); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	switch n := len(lines) - MaxFindings; {
	case n > 0 && cut:
		lines = append(lines[:MaxFindings], "and many more")
	case n > 0:
		lines = append(lines[:MaxFindings], "and "+strconv.Itoa(n)+" more")
	}
	return strings.Join(lines, "; ")
}

// comparePaths orders array indexes by number.
func comparePaths(a, b []string) int {
	return slices.CompareFunc(a, b, func(a, b string) int {
		i, errA := strconv.Atoi(a)
		j, errB := strconv.Atoi(b)
		if errA == nil && errB == nil {
			return cmp.Compare(i, j)
		}
		return cmp.Compare(a, b)
	})
}

// types lists JSON types with their articles, null last.
func types(names []string) string {
	articles := map[string]string{
		"array": "an array", "boolean": "true or false", "integer": "an integer", "null": "null",
		"number": "a number", "object": "an object", "string": "a string",
	}
	var out []string
	for _, name := range names {
		if name != "null" {
			out = append(out, articles[name])
		}
	}
	if slices.Contains(names, "null") {
		out = append(out, "null")
	}
	return strings.Join(out, " or ")
}
