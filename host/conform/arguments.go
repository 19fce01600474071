// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/schema"
)

// arguments makes arguments that are valid by an input schema, as small as they
// can be. It knows what schemas commonly say; what it makes is held against the
// whole schema, and ok is false if it does not match.
func arguments(raw json.RawMessage, compiled *schema.Schema) (args json.RawMessage, ok bool) {
	root, err := decode(raw)
	if err != nil {
		root = map[string]any{}
	}
	g := &generator{root: root, steps: maxNodes}
	value, made := g.value(root, 0)
	if !made {
		return nil, false
	}
	if _, object := value.(map[string]any); !object {
		value = map[string]any{}
	}
	out, err := json.Marshal(value)
	if err != nil || compiled.ValidateValue(out) != nil {
		return nil, false
	}
	return out, true
}

// decode reads JSON with the digits of numbers.
func decode(raw []byte) (any, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// maxGenerated is how deep a value is made, and how long a text or list.
const (
	maxGeneratedDepth = 16
	maxGeneratedText  = 1 << 16
	maxGeneratedItems = 100
)

type generator struct {
	root  any
	steps int
}

// value makes a value for a schema; made is false if it gives up.
func (g *generator) value(schema any, depth int) (v any, made bool) {
	if g.steps--; g.steps < 0 || depth > maxGeneratedDepth {
		return nil, false
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return "x", schema != false // true: anything
	}
	for _, keyword := range []string{"const", "default"} {
		if v, given := s[keyword]; given {
			return v, true
		}
	}
	for _, keyword := range []string{"examples", "enum"} {
		if list, _ := s[keyword].([]any); len(list) > 0 {
			return list[0], true
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		if target := resolve(g.root, ref); target != nil {
			return g.value(target, depth+1)
		}
		return nil, false
	}
	if list, ok := s["allOf"].([]any); ok {
		return g.value(merged(s, list), depth+1)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		list, _ := s[keyword].([]any)
		for _, sub := range list {
			if v, made := g.value(merged(without(s, keyword), []any{sub}), depth+1); made {
				return v, true
			}
		}
	}
	return g.typed(s, depth)
}

// typed makes a value of the type that a schema says or implies.
func (g *generator) typed(s map[string]any, depth int) (any, bool) {
	switch typeOf(s) {
	case "object":
		return g.object(s, depth)
	case "array":
		n, ok := countOf(s, "minItems", maxGeneratedItems)
		if !ok {
			return nil, false
		}
		items := []any{}
		for range n {
			item, made := g.value(orTrue(s["items"]), depth+1)
			if !made {
				return nil, false
			}
			items = append(items, item)
		}
		return items, true
	case "integer", "number":
		return g.number(s), true
	case "boolean":
		return false, true
	case "null":
		return nil, true
	default:
		return text(s)
	}
}

func (g *generator) object(s map[string]any, depth int) (any, bool) {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		key, _ := name.(string)
		v, made := g.value(orTrue(properties[key]), depth+1)
		if !made {
			return nil, false
		}
		out[key] = v
	}
	least, _ := countOf(s, "minProperties", maxGeneratedItems)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if len(out) >= least {
			break
		}
		if v, made := g.value(properties[key], depth+1); made {
			out[key] = v
		}
	}
	return out, true
}

// number is the least that is allowed, if that is above nothing, or else the
// nearest to it.
func (*generator) number(s map[string]any) any {
	low := numberOf(s, "minimum", math.Inf(-1))
	if above := numberOf(s, "exclusiveMinimum", math.Inf(-1)); above >= low {
		low = above + 1
	}
	high := numberOf(s, "maximum", math.Inf(1))
	if below := numberOf(s, "exclusiveMaximum", math.Inf(1)); below <= high {
		high = below - 1
	}
	n := math.Ceil(max(low, min(0, high)))
	if step := numberOf(s, "multipleOf", 0); step > 0 {
		n = math.Ceil(n/step) * step
	}
	return n
}

// text is one of a few texts that common schemas are about.
func text(s map[string]any) (any, bool) {
	n, ok := countOf(s, "minLength", maxGeneratedText)
	if !ok {
		return nil, false
	}
	switch s["format"] {
	case "date-time":
		return "2026-01-02T03:04:05Z", true
	case "date":
		return "2026-01-02", true
	case "email":
		return "ada@example.com", true
	case "uri", "uri-reference", "iri":
		return "https://example.com/", true
	case "uuid":
		return "123e4567-e89b-42d3-a456-426614174000", true
	}
	return strings.Repeat("x", max(n, 1)), true
}

// merged lays schemas over one another, properties and required names together.
func merged(s map[string]any, list []any) map[string]any {
	out := without(s, "allOf")
	for _, sub := range list {
		m, _ := sub.(map[string]any)
		for key, v := range m {
			switch was := out[key].(type) {
			case map[string]any:
				more, _ := v.(map[string]any)
				both := maps.Clone(was)
				maps.Copy(both, more)
				out[key] = both
			case []any:
				more, _ := v.([]any)
				out[key] = slices.Concat(was, more)
			default:
				out[key] = v
			}
		}
	}
	return out
}

func without(s map[string]any, keyword string) map[string]any {
	out := maps.Clone(s)
	delete(out, keyword)
	return out
}

// typeOf is the type that a schema says, the first of several, or implies.
func typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	for _, implied := range []struct{ keyword, name string }{
		{"properties", "object"},
		{"required", "object"},
		{"items", "array"},
		{"minItems", "array"},
		{"minimum", "number"},
		{"maximum", "number"},
		{"multipleOf", "number"},
	} {
		if _, ok := s[implied.keyword]; ok {
			return implied.name
		}
	}
	return "string"
}

func numberOf(s map[string]any, keyword string, otherwise float64) float64 {
	if n, ok := s[keyword].(json.Number); ok {
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	return otherwise
}

// countOf is a count that a keyword says, 0 if nothing; ok is false beyond most.
func countOf(s map[string]any, keyword string, most int) (n int, ok bool) {
	f := numberOf(s, keyword, 0)
	if !(f >= 0 && f <= float64(most)) {
		return 0, false
	}
	return int(math.Ceil(f)), true
}

func orTrue(schema any) any {
	if schema == nil {
		return true
	}
	return schema
}
