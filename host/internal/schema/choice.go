// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// choose says what is wrong with a value that matches none of several forms
// (anyOf, oneOf). To name the faults of all would bury the one that matters, so
// it looks for the form that was meant.
func (x *explainer) choose(path []string, forms []*jsonschema.ValidationError) []finding {
	all := make([][]finding, 0, len(forms))
	for _, form := range forms {
		if findings := x.collect(form); len(findings) > 0 {
			all = append(all, findings)
		}
	}
	meant := slices.DeleteFunc(slices.Clone(all), func(findings []finding) bool {
		return slices.ContainsFunc(findings, func(f finding) bool { return f.types != nil && slices.Equal(f.path, path) })
	})
	if len(all) > 0 && len(meant) == 0 { // no form is of that type
		return []finding{{class: wrong, path: path, types: allTypes(path, all)}}
	}
	if tag, ok := discriminator(meant); ok {
		return []finding{tag}
	}
	best, ties := fewest(meant)
	if ties > 1 || best == nil {
		return []finding{{class: wrong, path: path, needs: "must match one of its allowed forms"}}
	}
	return best
}

// allTypes joins the types that forms ask for.
func allTypes(path []string, forms [][]finding) []string {
	var names []string
	for _, findings := range forms {
		for _, f := range findings {
			if !slices.Equal(f.path, path) {
				continue
			}
			for _, name := range f.types {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// discriminator finds the one place at which every form asks for another value
// than is there: the whole value, or the member by which forms are told apart.
func discriminator(forms [][]finding) (finding, bool) {
	if len(forms) == 0 {
		return finding{}, false
	}
	for _, tag := range forms[0] {
		if tag.choices == nil {
			continue
		}
		tag.choices = slices.Clone(tag.choices)
		everywhere := true
		for _, findings := range forms[1:] {
			i := slices.IndexFunc(findings, func(f finding) bool { return f.choices != nil && slices.Equal(f.path, tag.path) })
			if i < 0 {
				everywhere = false
				break
			}
			tag.choices = append(tag.choices, findings[i].choices...)
		}
		if everywhere {
			return tag, true
		}
	}
	return finding{}, false
}

// fewest returns the form with the fewest faults, and how many forms have as
// few.
func fewest(forms [][]finding) (best []finding, ties int) {
	for _, findings := range forms {
		switch {
		case best == nil || weigh(findings) < weigh(best):
			best, ties = findings, 1
		case weigh(findings) == weigh(best):
			ties++
		}
	}
	return best, ties
}

// weigh counts faults. A tag that differs counts more than anything else: the
// form is another one.
func weigh(findings []finding) int {
	total := 0
	for _, f := range findings {
		total++
		if f.choices != nil {
			total += maxCollected
		}
	}
	return total
}
