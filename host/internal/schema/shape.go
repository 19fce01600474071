// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// shape is the part of JSON Schema that most tools keep to: types, enums,
// simple bounds, properties and items. It judges canonical JSON where it lies,
// without allocating, in one pass. It only ever accepts: whatever it is not
// sure of is left to the library.
type shape struct {
	// unlessNull judges in place of everything below, unless the value is null.
	unlessNull *shape
	// null, boolean, number, integer, text, array, object: the types that are
	// accepted. number includes integers.
	null, boolean, number, integer, text, array, object bool
	// choices are the scalars that are accepted, in canonical form; nil: all.
	choices [][]byte
	// min and max bound integers, length texts (in code points) and count
	// arrays.
	min, max                           int64
	minLength, maxLength, fewest, most int
	pattern                            *regex // nil: any text
	items                              *shape // nil: anything
	// properties are by canonical key, without its quotes. closed: there are
	// no others; else others is what they must be, nil: anything. required is
	// how many must be there.
	properties map[string]property
	closed     bool
	others     *shape
	required   int
}

type property struct {
	shape    *shape
	required bool
}

const unbounded = 1<<63 - 1

// quickShape returns the shape of a schema, nil if it says more than a shape
// can.
func quickShape(s *jsonschema.Schema) *shape {
	d := drawing{done: map[*jsonschema.Schema]*shape{}}
	out := d.shape(s)
	if d.failed {
		return nil
	}
	return out
}

// drawing makes shapes. Schemas may refer to themselves, and so may shapes.
type drawing struct {
	done   map[*jsonschema.Schema]*shape
	failed bool
}

func (d *drawing) shape(s *jsonschema.Schema) *shape {
	if out, ok := d.done[s]; ok {
		return out
	}
	if s.Ref != nil && plain(s) && bare(s) { // no circle: circle was asked
		out := d.shape(s.Ref)
		d.done[s] = out
		return out
	}
	out := &shape{}
	d.done[s] = out
	switch {
	case s.Bool != nil:
		d.failed = d.failed || !*s.Bool
		out.everything()
	case !plain(s) || s.Ref != nil:
		d.failed = true
	case len(s.AnyOf) > 0:
		d.optional(s, out)
	default:
		out.everything()
		d.types(s, out)
		d.scalars(s, out)
		d.members(s, out)
	}
	return out
}

// plain reports whether s has only keywords that shapes have.
func plain(s *jsonschema.Schema) bool {
	return s.DynamicRef == nil && s.RecursiveRef == nil && s.Not == nil && len(s.AllOf) == 0 &&
		len(s.OneOf) == 0 && s.If == nil && s.Format == nil && s.MaxProperties == nil && s.MinProperties == nil &&
		s.PropertyNames == nil && len(s.PatternProperties) == 0 && len(s.Dependencies) == 0 &&
		len(s.DependentRequired) == 0 && len(s.DependentSchemas) == 0 && s.UnevaluatedProperties == nil &&
		!s.UniqueItems && s.Contains == nil && len(s.PrefixItems) == 0 && s.UnevaluatedItems == nil &&
		s.MultipleOf == nil && len(s.Extensions) == 0
}

// bare reports whether a plain s has at most one of $ref and anyOf, and no
// other keyword.
func bare(s *jsonschema.Schema) bool {
	return (s.Ref == nil || len(s.AnyOf) == 0) && s.Types == nil && s.Enum == nil && len(s.Required) == 0 &&
		len(s.Properties) == 0 && s.AdditionalProperties == nil && s.MinItems == nil && s.MaxItems == nil &&
		s.Items == nil && s.AdditionalItems == nil && s.Items2020 == nil && s.MinLength == nil &&
		s.MaxLength == nil && s.Maximum == nil && s.Minimum == nil && s.ExclusiveMaximum == nil &&
		s.ExclusiveMinimum == nil && s.Pattern == nil && s.Const == nil
}

// optional draws the one use of anyOf that is not worth a choice: something, or
// null.
func (d *drawing) optional(s *jsonschema.Schema, out *shape) {
	null, some := s.AnyOf[len(s.AnyOf)-1], s.AnyOf[0]
	if onlyNull(some) {
		null, some = some, null
	}
	if len(s.AnyOf) != 2 || !onlyNull(null) || !bare(s) {
		d.failed = true
		return
	}
	out.unlessNull = d.shape(some)
}

func onlyNull(s *jsonschema.Schema) bool {
	return s.Types != nil && len(s.Types.ToStrings()) == 1 && s.Types.ToStrings()[0] == "null" && s.Enum == nil &&
		s.Const == nil && plain(s) && s.Ref == nil && len(s.AnyOf) == 0
}

// everything makes a shape that accepts all.
func (s *shape) everything() {
	*s = shape{
		null: true, boolean: true, number: true, integer: true, text: true, array: true, object: true,
		min: -unbounded, max: unbounded, maxLength: unbounded, most: unbounded,
	}
}

func (*drawing) types(s *jsonschema.Schema, out *shape) {
	if s.Types == nil {
		return
	}
	out.null, out.boolean, out.number, out.integer, out.text, out.array, out.object =
		false, false, false, false, false, false, false
	for _, name := range s.Types.ToStrings() {
		switch name {
		case "null":
			out.null = true
		case "boolean":
			out.boolean = true
		case "number":
			out.number, out.integer = true, true
		case "integer":
			out.integer = true
		case "string":
			out.text = true
		case "array":
			out.array = true
		case "object":
			out.object = true
		}
	}
}

func (d *drawing) scalars(s *jsonschema.Schema, out *shape) {
	if s.MinLength != nil {
		out.minLength = *s.MinLength
	}
	if s.MaxLength != nil {
		out.maxLength = *s.MaxLength
	}
	if s.Pattern != nil {
		re, ok := s.Pattern.(*regex)
		d.failed = d.failed || !ok
		out.pattern = re
	}
	out.min = max(d.bound(s.Minimum, 0, out.min), d.bound(s.ExclusiveMinimum, 1, out.min))
	out.max = min(d.bound(s.Maximum, 0, out.max), d.bound(s.ExclusiveMaximum, -1, out.max))
	switch {
	case s.Enum != nil && s.Const != nil:
		d.failed = true
	case s.Enum != nil:
		d.choices(s.Enum.Values, out)
	case s.Const != nil:
		d.choices([]any{*s.Const}, out)
	}
}

func (d *drawing) choices(values []any, out *shape) {
	out.choices = [][]byte{}
	for _, v := range values {
		switch v.(type) {
		case string, bool, json.Number, nil:
			out.choices = append(out.choices, canonical(v))
		default:
			d.failed = true
		}
	}
	out.array, out.object = false, false
}

// bound returns an integer bound moved by this much, none if there is no such
// keyword.
func (d *drawing) bound(r *big.Rat, by, none int64) int64 {
	if r == nil {
		return none
	}
	const most = 1 << 53 // far from where moving overflows
	if !r.IsInt() || !r.Num().IsInt64() || r.Num().Int64() > most || r.Num().Int64() < -most {
		d.failed = true
		return none
	}
	return r.Num().Int64() + by
}

func (d *drawing) members(s *jsonschema.Schema, out *shape) {
	if s.MinItems != nil {
		out.fewest = *s.MinItems
	}
	if s.MaxItems != nil {
		out.most = *s.MaxItems
	}
	items := s.Items2020
	switch v := s.Items.(type) { // draft-07
	case nil:
	case *jsonschema.Schema:
		items = v
	default:
		d.failed = true
	}
	if items != nil {
		out.items = d.shape(items)
	}
	switch v := s.AdditionalProperties.(type) {
	case nil:
	case bool:
		out.closed = !v
	case *jsonschema.Schema:
		out.others = d.shape(v)
	}
	out.properties = make(map[string]property, len(s.Properties))
	for name, sub := range s.Properties {
		out.properties[key(name)] = property{shape: d.shape(sub)}
	}
	for _, name := range s.Required {
		p, ok := out.properties[key(name)]
		if !ok {
			d.failed = d.failed || out.closed
			p.shape = out.others
			if p.shape == nil {
				p.shape = &shape{}
				p.shape.everything()
			}
		}
		if !p.required {
			out.required++
		}
		p.required = true
		out.properties[key(name)] = p
	}
}

// canonical returns the canonical form of a scalar of a schema.
func canonical(scalar any) []byte {
	raw := "null"
	switch v := scalar.(type) {
	case string:
		raw = quote(v)
	case json.Number:
		raw = v.String()
	case bool:
		raw = strconv.FormatBool(v)
	}
	j, _ := tool.ParseJSON([]byte(raw)) // came from one
	return j.Canonical()
}

// key returns the canonical form of a name, without its quotes.
func key(name string) string {
	c := canonical(name)
	return string(c[1 : len(c)-1])
}
