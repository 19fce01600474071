// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"math/bits"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/toolwharf/toolwharf/host/internal/schema"
)

// maxTyped is how deep in a schema types are looked for; below, anything may be.
const maxTyped = 8

// argType is what a tool's schema says of the type of an argument, as far as
// conditions are held against it. What it leaves open is anything.
type argType struct {
	kind  string // as the schema names it; empty: anything
	items *argType
	// props are an object's; others may be there unless it is closed.
	props    map[string]*argType
	closed   bool
	required []string

	samples          []json.RawMessage // values that the schema itself names
	minimum, maximum json.Number
	shortest, fewest int
}

// argsOfTool are the arguments of a tool.
func argsOfTool(input json.RawMessage) *argType {
	t := newArgType(schema.Inline(input), 0)
	if t.kind == "" { // arguments are an object, whatever else is said
		t.kind = "object"
	}
	return t
}

// newArgType reads a schema. A type that it says holds whatever stands beside it;
// what it says by references, choices and lists of types is left open.
func newArgType(raw json.RawMessage, depth int) *argType {
	var s struct {
		Ref        json.RawMessage            `json:"$ref"`
		Dynamic    json.RawMessage            `json:"$dynamicRef"`
		Type       any                        `json:"type"`
		Items      json.RawMessage            `json:"items"`
		Prefix     json.RawMessage            `json:"prefixItems"`
		Properties map[string]json.RawMessage `json:"properties"`
		Patterns   json.RawMessage            `json:"patternProperties"`
		Additional json.RawMessage            `json:"additionalProperties"`
		Required   []string                   `json:"required"`
		Enum       []json.RawMessage          `json:"enum"`
		Const      json.RawMessage            `json:"const"`
		Default    json.RawMessage            `json:"default"`
		Examples   []json.RawMessage          `json:"examples"`
		Minimum    json.Number                `json:"minimum"`
		Maximum    json.Number                `json:"maximum"`
		MinLength  json.Number                `json:"minLength"`
		MinItems   json.Number                `json:"minItems"`
	}
	if depth > maxTyped || json.Unmarshal(raw, &s) != nil || s.Ref != nil || s.Dynamic != nil {
		return &argType{}
	}
	t := &argType{
		samples: append(s.Enum, s.Examples...), minimum: s.Minimum, maximum: s.Maximum,
		shortest: small(s.MinLength), fewest: small(s.MinItems), required: s.Required,
	}
	for _, v := range []json.RawMessage{s.Const, s.Default} {
		if v != nil {
			t.samples = append(t.samples, v)
		}
	}
	t.kind, _ = s.Type.(string)
	switch {
	case t.kind == "array":
		t.items = &argType{}
		if s.Prefix == nil && s.Items != nil {
			t.items = newArgType(s.Items, depth+1)
		}
	case t.kind == "object", depth == 0:
		t.closed = s.Patterns == nil && string(s.Additional) == "false"
		t.props = make(map[string]*argType, len(s.Properties))
		for name, sub := range s.Properties {
			t.props[name] = newArgType(sub, depth+1)
		}
	}
	return t
}

// small is a count that a sample of a call can have, else 0.
func small(n json.Number) int {
	const most = 64
	if i, err := strconv.Atoi(n.String()); err == nil && 0 < i && i <= most {
		return i
	}
	return 0
}

// argTypes gives CEL the types of one tool's arguments. When a condition is judged, a
// number is either an int or a double: each reading takes some for the one and the
// others for the other.
type argTypes struct {
	types.Provider

	reading int
	numbers map[*argType]int // those that were met, counted
	objects map[string]*argType
	args    *types.Type
}

// maxReadings of one schema: in those after the first two, any two of sixteen numbers
// are different once.
const maxReadings = 6

func newArgTypes(root *argType, reading int) *argTypes {
	p := &argTypes{Provider: types.NewEmptyRegistry(), reading: reading, numbers: map[*argType]int{}, objects: map[string]*argType{}}
	p.args = p.typeOf(root)
	return p
}

// readings is how many there are that differ.
func (p *argTypes) readings() int {
	if len(p.numbers) == 0 {
		return 1
	}
	return min(2+bits.Len(uint(len(p.numbers)-1)), maxReadings)
}

// number is what a number is taken for.
func (p *argTypes) number(t *argType) *types.Type {
	n, met := p.numbers[t]
	if !met {
		n = len(p.numbers)
		p.numbers[t] = n
	}
	if p.reading == 0 || p.reading > 1 && n>>(p.reading-2)&1 == 0 {
		return cel.IntType
	}
	return cel.DoubleType
}

// typeOf is CEL's type.
func (p *argTypes) typeOf(t *argType) *types.Type {
	switch t.kind {
	case "string":
		return cel.StringType
	case "integer":
		return cel.IntType
	case "number":
		return p.number(t)
	case "boolean":
		return cel.BoolType
	case "array":
		return cel.ListType(p.typeOf(t.items))
	case "object":
		if len(t.props) == 0 && !t.closed {
			return cel.MapType(cel.StringType, cel.DynType)
		}
		name := "{" + strconv.Itoa(len(p.objects)) + "}" // nobody can write that
		p.objects[name] = t
		return cel.ObjectType(name)
	}
	return cel.DynType
}

// FindStructType knows the objects of the schema.
func (p *argTypes) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldType is the type of a property. A property that is not declared is
// anything, if there may be such.
func (p *argTypes) FindStructFieldType(object, field string) (*types.FieldType, bool) {
	o, ok := p.objects[object]
	if !ok {
		return p.Provider.FindStructFieldType(object, field)
	}
	if t, declared := o.props[field]; declared {
		return &types.FieldType{Type: p.typeOf(t)}, true
	}
	return &types.FieldType{Type: cel.DynType}, !o.closed
}
