// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Coerce brings arguments of a lenient tool nearer to its schema, in exactly
// four ways, and only where the schema leaves no doubt what is meant:
//
//   - null for an optional property that cannot be null: the property goes;
//   - a scalar where an array must be: an array of it (not an array of arrays);
//   - JSON text where an object or array must be: what the text says;
//   - where an integer must be, the exact text of one, or 42.0: the integer.
//
// It walks through properties and items, also those behind references, allOf,
// and an anyOf or oneOf of one form and null. Digits are kept. What it leaves
// alone is for Validate to refuse. Arguments in which there is nothing to do
// are returned as they are. An error is a *tool.Error: the result is not JSON
// as tool.ParseJSON has it.
func Coerce(s *Schema, j tool.JSON) (tool.JSON, error) {
	if s == nil || j.IsZero() {
		return j, nil
	}
	c := coercion{left: MaxEffort}
	root := c.value(c.forms([]*jsonschema.Schema{s.compiled}), parse(j), true)
	switch {
	case c.left <= 0:
		return tool.JSON{}, s.refuse("reading this by the schema would take too long; make it smaller")
	case !c.changed:
		return j, nil
	}
	out, err := tool.ParseJSON(root.append(nil))
	if err != nil {
		return tool.JSON{}, s.refuse(err.Error())
	}
	return out, nil
}

// coercion is one run of Coerce. It changes the tree in place.
type coercion struct {
	changed bool
	// left is how many schemas may still be looked at; see MaxEffort.
	left int
}

// form is a schema that a value must match, or be null where nullable.
type form struct {
	schema   *jsonschema.Schema
	nullable bool
}

// forms returns all that a value must match because it must match these.
func (c *coercion) forms(schemas []*jsonschema.Schema) []form {
	var out []form
	seen := map[*jsonschema.Schema]bool{}
	var add func(s *jsonschema.Schema, nullable bool)
	add = func(s *jsonschema.Schema, nullable bool) {
		if s == nil || seen[s] || c.left <= 0 {
			return
		}
		c.left--
		seen[s] = true
		out = append(out, form{s, nullable})
		add(s.Ref, nullable)
		for _, sub := range s.AllOf {
			add(sub, nullable)
		}
		add(optional(s.AnyOf), true)
		add(optional(s.OneOf), true)
	}
	for _, s := range schemas {
		add(s, false)
	}
	return out
}

// optional returns the one alternative to null, nil if there is another number
// of them.
func optional(forms []*jsonschema.Schema) *jsonschema.Schema {
	rest := slices.DeleteFunc(slices.Clone(forms), onlyNull)
	if len(rest) != 1 || len(forms) == 1 {
		return nil
	}
	return rest[0]
}

// allowed returns the types that a value may have, nil for any.
func allowed(forms []form) []string {
	var out []string
	for _, f := range forms {
		if f.schema.Types == nil {
			continue
		}
		names := f.schema.Types.ToStrings()
		if f.nullable {
			names = append(names, "null")
		}
		if out == nil {
			out = names
			continue
		}
		both := slices.DeleteFunc(slices.Clone(out), func(name string) bool { return !slices.Contains(names, name) })
		out = slices.Clip(append([]string{}, both...))
	}
	return out
}

// value coerces a value and what is in it. With wrap a scalar may become an
// array; what has just been put into one may not, or a schema of arrays of
// itself would have no end.
func (c *coercion) value(forms []form, n *node, wrap bool) *node {
	wrapped := false
	if types := allowed(forms); types != nil {
		changed := convert(n, types)
		if changed == nil && wrap && wraps(n, types) {
			wrapped = true
			changed = &node{kind: '[', items: []*node{n}}
		}
		if changed != nil {
			c.changed = true
			n = changed
		}
	}
	switch n.kind {
	case '{':
		c.object(forms, n)
	case '[':
		c.array(forms, n, !wrapped)
	}
	return n
}

func (c *coercion) object(forms []form, n *node) {
	n.members = slices.DeleteFunc(n.members, func(m member) bool {
		if m.value.kind != 'n' {
			return false
		}
		types := allowed(c.property(forms, m.key))
		absent := types != nil && !slices.Contains(types, "null") && !required(forms, m.key)
		c.changed = c.changed || absent
		return absent
	})
	for i := range n.members {
		m := &n.members[i]
		if sub := c.property(forms, m.key); len(sub) > 0 {
			m.value = c.value(sub, m.value, true)
		}
	}
}

// property returns the forms of a property.
func (c *coercion) property(forms []form, name string) []form {
	var subs []*jsonschema.Schema
	for _, f := range forms {
		if sub := f.schema.Properties[name]; sub != nil {
			subs = append(subs, sub)
		}
	}
	return c.forms(subs)
}

func required(forms []form, name string) bool {
	return slices.ContainsFunc(forms, func(f form) bool { return slices.Contains(f.schema.Required, name) })
}

func (c *coercion) array(forms []form, n *node, wrap bool) {
	var rest []*jsonschema.Schema
	positions := 0 // how many items have a schema of their own
	for _, f := range forms {
		prefix, items := arrayItems(f.schema)
		positions = max(positions, len(prefix))
		if items != nil {
			rest = append(rest, items)
		}
	}
	if positions > 0 { // tuples: what is meant is not clear enough
		return
	}
	sub := c.forms(rest)
	if len(sub) == 0 {
		return
	}
	for i := range n.items {
		if c.left--; c.left <= 0 {
			return
		}
		n.items[i] = c.value(sub, n.items[i], wrap)
	}
}

// arrayItems returns the schemas of the first items and that of the others.
func arrayItems(s *jsonschema.Schema) (prefix []*jsonschema.Schema, rest *jsonschema.Schema) {
	switch items := s.Items.(type) { // draft-07
	case []*jsonschema.Schema:
		rest, _ = s.AdditionalItems.(*jsonschema.Schema)
		return items, rest
	case *jsonschema.Schema:
		return nil, items
	default:
		return s.PrefixItems, s.Items2020
	}
}

// convert returns what JSON text, integer text or 42.0 become where only these
// types are allowed, nil if nothing.
func convert(n *node, types []string) *node {
	allows := func(name string) bool { return slices.Contains(types, name) }
	switch {
	case n.kind == '"' && !allows("string"):
		said := unquote(n.text)
		if v := spoken(said); v != nil && (v.kind == '{' && allows("object") || v.kind == '[' && allows("array")) {
			return v
		}
		if allows("integer") && isInteger(said) {
			return &node{kind: '0', text: said}
		}
	case n.kind == '0' && allows("integer") && !allows("number"):
		if whole, zeros, ok := strings.Cut(n.text, "."); ok && strings.Trim(zeros, "0") == "" {
			return &node{kind: '0', text: whole}
		}
	}
	return nil
}

// wraps reports whether a scalar is not allowed, but an array is.
func wraps(n *node, types []string) bool {
	allows := func(name string) bool { return slices.Contains(types, name) }
	switch n.kind {
	case '"':
		return allows("array") && !allows("string")
	case '0':
		return allows("array") && !allows("number") && !allows("integer")
	case 't', 'f':
		return allows("array") && !allows("boolean")
	default:
		return false
	}
}

// spoken returns the object or array that a text is the JSON of, else nil.
func spoken(text string) *node {
	if !strings.ContainsAny(text, "{[") {
		return nil
	}
	j, err := tool.ParseJSON([]byte(text))
	if err != nil {
		return nil
	}
	return parse(j)
}

// isInteger reports whether a text is an integer as JSON spells it.
func isInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(text) > tool.MaxNumber || digits[0] == '0' && len(digits) > 1 {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}
