// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// maxCollected is how many findings are made: a large array can be wrong in
// each of its items.
const maxCollected = 200

// explain says what is wrong with a value.
func (s *Schema) explain(verr *jsonschema.ValidationError, value any) string {
	x := explainer{raw: s.raw}
	w := wordsOf(s.kind)
	findings := x.collect(verr)
	if len(findings) == 0 {
		return w.whole + " must match the schema"
	}
	return w.render(findings, value, x.made > maxCollected)
}

// metaFault turns what the metaschema says about a schema into a fault.
func metaFault(pointer string, verr *jsonschema.ValidationError, value any) *CompileError {
	x := explainer{}
	findings := x.collect(verr)
	slices.SortStableFunc(findings, func(a, b finding) int { return comparePaths(a.path, b.path) })
	if len(findings) == 0 {
		return faultf(pointer, "not a valid schema")
	}
	f := findings[0]
	if pointer != "" {
		value, f.path = nil, append(strings.Split(pointer[1:], "/"), f.path...)
	}
	if f.class == missing {
		return faultf(pointer, `missing "%s"`, spell(f.path, value))
	}
	var at strings.Builder
	for _, token := range f.path {
		at.WriteString("/" + escape(token))
	}
	return &CompileError{Pointer: at.String(), Reason: f.predicate(value, false)}
}

// explainer turns the library's tree of errors into findings.
type explainer struct {
	// raw is the schema, which is read again to name what it knows: that is
	// cheaper than to keep trees for errors that may never come.
	raw   []byte
	doc   *document
	known map[string]string
	made  int
}

// knows lists the properties of the schema at a location, in its order.
func (x *explainer) knows(location string) string {
	if list, ok := x.known[location]; ok {
		return list
	}
	if x.doc == nil {
		x.known = map[string]string{}
		j, _ := tool.ParseJSON(x.raw) // was read before
		x.doc = newDocument(parse(j), draft2020)
	}
	var names []string
	_, fragment, _ := strings.Cut(location, "#")
	if n := x.doc.resolve("#" + fragment); n != nil {
		if properties := n.get("properties"); properties != nil {
			for _, m := range properties.members {
				names = append(names, m.key)
			}
		}
	}
	out := " (known: none)"
	if len(names) > 0 {
		out = " (known: " + list(names, func(s string) string { return shown(s, maxShown) }) + ")"
	}
	x.known[location] = out
	return out
}

// collect returns the findings of an error and of its causes.
func (x *explainer) collect(e *jsonschema.ValidationError) []finding {
	if x.made > maxCollected {
		return nil
	}
	path := slices.Clone(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		return x.all(e.Causes)
	case *kind.AnyOf:
		return x.choose(path, e.Causes)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return x.make(finding{class: wrong, path: path, needs: "must match only one of its allowed forms"})
		}
		return x.choose(path, e.Causes)
	case *kind.Required:
		return x.missing(path, k.Missing, "")
	case *kind.Dependency:
		return x.missing(path, k.Missing, " (needed with "+shown(quote(k.Prop), maxShown)+")")
	case *kind.DependentRequired:
		return x.missing(path, k.Missing, " (needed with "+shown(quote(k.Prop), maxShown)+")")
	case *kind.AdditionalProperties:
		return x.unknown(path, k.Properties, e.SchemaURL)
	case *kind.FalseSchema:
		return x.impossible(path, e.SchemaURL)
	case *kind.PropertyNames:
		return x.badName(k.Property, e.Causes)
	case *kind.Type:
		return x.make(finding{class: wrong, path: path, types: k.Want})
	case *kind.Enum:
		return x.make(finding{class: wrong, path: path, choices: k.Want})
	case *kind.Const:
		return x.make(finding{class: wrong, path: path, choices: []any{k.Want}})
	default:
		return x.make(finding{class: wrong, path: path, needs: needs(e.ErrorKind)})
	}
}

func (x *explainer) make(f finding) []finding {
	x.made++
	return []finding{f}
}

func (x *explainer) all(causes []*jsonschema.ValidationError) []finding {
	out := make([]finding, 0, len(causes))
	for _, cause := range causes {
		out = append(out, x.collect(cause)...)
	}
	return out
}

func (x *explainer) missing(path, names []string, why string) []finding {
	out := make([]finding, 0, len(names))
	for _, name := range names {
		out = append(out, x.make(finding{class: missing, path: join(path, name), needs: why})...)
	}
	return out
}

func (x *explainer) unknown(path, names []string, location string) []finding {
	known := x.knows(location)
	names = names[:min(len(names), maxCollected)]
	out := make([]finding, 0, len(names))
	for _, name := range names {
		out = append(out, x.make(finding{class: unknown, path: join(path, name), needs: known})...)
	}
	return out
}

// impossible is a value where the schema allows none.
func (x *explainer) impossible(path []string, location string) []finding {
	f := finding{class: wrong, path: path, needs: "must not be given"}
	parent, properties := strings.CutSuffix(location, "/unevaluatedProperties")
	switch {
	case properties && len(path) > 0:
		return x.unknown(path[:len(path)-1], path[len(path)-1:], parent)
	case strings.HasSuffix(location, "/items"), strings.HasSuffix(location, "/unevaluatedItems"):
		f.needs = "is one item too many"
	}
	return x.make(f)
}

// badName is a property whose name is not allowed. The library does not say
// reliably where it is.
func (x *explainer) badName(name string, causes []*jsonschema.ValidationError) []finding {
	why := "it is not allowed"
	if inner := x.all(causes); len(inner) > 0 {
		inner[0].path = nil
		why = "it " + inner[0].predicate(name, true)
	}
	return x.make(finding{class: unknown, path: []string{name}, needs: ": " + why})
}

func join(path []string, name string) []string { return append(slices.Clone(path), name) }

// needs says what one keyword asks for.
func needs(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %s", count(k.Want, "member"))
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %s", count(k.Want, "member"))
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %s", count(k.Want, "item"))
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %s", count(k.Want, "item"))
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %s too many", count(k.Count, "item"))
	case *kind.UniqueItems:
		return fmt.Sprintf("must not repeat items (%d and %d are equal)", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "must contain an item of the required form"
	case *kind.MinContains:
		return fmt.Sprintf("must contain at least %s of the required form", count(k.Want, "item"))
	case *kind.MaxContains:
		return fmt.Sprintf("must contain at most %s of the required form", count(k.Want, "item"))
	case *kind.MinLength:
		return fmt.Sprintf("must be at least %s long", count(k.Want, "character"))
	case *kind.MaxLength:
		return fmt.Sprintf("must be at most %s long", count(k.Want, "character"))
	case *kind.Pattern:
		return "must match the pattern " + shown(quote(k.Want), 2*maxShown)
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	case *kind.Not:
		return "must not be of the form that is excluded"
	default:
		return "must match the schema"
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
