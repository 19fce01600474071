// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// definitions is how many definitions a random schema has.
const definitions = 4

// names are those of properties, few enough for values to meet schemas. Two of
// them look like keywords.
var names = []string{"a", "b", "title", "$defs"}

// randomSchema draws a schema document. Unless it may be recursive, each
// definition refers to later ones only.
func randomSchema(recursive bool) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		old := rapid.Bool().Draw(t, "draft-07")
		g := grammar{t: t, old: old, prefix: "#/$defs/d"}
		root := []string{}
		if old {
			g.prefix = "#/definitions/d"
			root = append(root, `"$schema":"http://json-schema.org/draft-07/schema#"`)
		}
		root = append(root, g.keywords(3)...)
		defs := make([]string, 0, definitions)
		for i := range definitions {
			if !recursive {
				g.first = i + 1
			}
			defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, g.schema(2)))
		}
		keyword := `"$defs":{`
		if old {
			keyword = `"definitions":{`
		}
		root = append(root, keyword+strings.Join(defs, ",")+"}")
		return "{" + strings.Join(root, ",") + "}"
	})
}

// grammar draws schemas. first is the first definition that may be referred to.
type grammar struct {
	t      *rapid.T
	old    bool
	prefix string
	first  int
}

func (g *grammar) pick(from ...string) string { return rapid.SampledFrom(from).Draw(g.t, "pick") }

func (g *grammar) schema(depth int) string {
	if depth <= 0 {
		return g.pick(`{}`, `true`, `false`, `{"type":"string"}`, `{"type":"integer","title":"T"}`, `{"type":"null"}`)
	}
	return "{" + strings.Join(g.keywords(depth), ",") + "}"
}

// keywords draws a few different members of a schema.
func (g *grammar) keywords(depth int) []string {
	drawn := map[string]string{}
	var order []string
	for range rapid.IntRange(0, 4).Draw(g.t, "keywords") {
		keyword := rapid.SampledFrom([]string{
			"$ref", "$ref", "type", "type", "properties", "properties", "required", "additionalProperties", "items", "enum", "const",
			"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "minimum", "exclusiveMaximum", "maxLength", "pattern",
			"minItems", "uniqueItems", "contains", "prefixItems", "patternProperties", "propertyNames", "dependentSchemas",
			"dependentRequired", "unevaluatedProperties", "unevaluatedItems", "title", "description", "maxProperties",
		}).Draw(g.t, "keyword")
		if g.old && keyword == "prefixItems" || drawn[keyword] != "" {
			continue
		}
		if value := g.value(keyword, depth-1); value != "" {
			drawn[keyword] = value
			order = append(order, keyword)
		}
	}
	out := make([]string, len(order))
	for i, keyword := range order {
		out[i] = `"` + keyword + `":` + drawn[keyword]
	}
	return out
}

func (g *grammar) value(keyword string, depth int) string {
	switch keyword {
	case "$ref":
		if g.first >= definitions {
			return ""
		}
		return fmt.Sprintf(`"%s%d"`, g.prefix, rapid.IntRange(g.first, definitions-1).Draw(g.t, "definition"))
	case "type":
		return g.pick(`"object"`, `"object"`, `"array"`, `"string"`, `"integer"`, `"number"`, `["integer","null"]`, `["string","array"]`)
	case "properties", "patternProperties", "dependentSchemas":
		return g.members(keyword, depth)
	case "required":
		return g.pick(`["a"]`, `["a","b"]`, `["title"]`, `[]`)
	case "dependentRequired":
		return `{"a":["b"]}`
	case "enum":
		return g.pick(`["x",1,null]`, `[1.0,"xx"]`, `[["x"],{"a":1}]`, `[true]`)
	case "const":
		return g.pick(`1`, `"x"`, `null`, `{"a":1}`)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return g.list(depth)
	case "minimum", "exclusiveMaximum":
		return g.pick(`0`, `1`, `1.5`)
	case "maxLength", "minItems", "maxProperties":
		return g.pick(`0`, `1`, `2`)
	case "pattern":
		return g.pick(`"^x"`, `"^(?!xx)x"`, `"y|"`)
	case "uniqueItems":
		return "true"
	case "title", "description":
		return `"words"`
	default:
		return g.schema(depth)
	}
}

func (g *grammar) members(keyword string, depth int) string {
	from := names
	if keyword == "patternProperties" {
		from = []string{"^a", "t", "^.$"}
	}
	var out []string
	for _, name := range from {
		if rapid.Bool().Draw(g.t, "member") {
			out = append(out, fmt.Sprintf(`"%s":%s`, name, g.schema(depth)))
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

func (g *grammar) list(depth int) string {
	out := []string{g.schema(depth)}
	if rapid.Bool().Draw(g.t, "second") {
		out = append(out, g.schema(depth))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// randomValue draws a JSON value from a small world.
func randomValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		scalar := func() string {
			return rapid.SampledFrom([]string{
				`0`, `1`, `1.0`, `1.5`, `2`, `-1`, `"x"`, `"xx"`, `"y"`, `""`, `"1"`, `"[1]"`, `"{\"a\":1}"`, `null`, `true`, `false`, `1e30`, `"\n"`,
			}).Draw(t, "scalar")
		}
		switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
		case depth == 0 || kind < 2:
			return scalar()
		case kind < 4:
			items := rapid.SliceOfN(randomValue(depth-1), 0, 3).Draw(t, "items")
			return "[" + strings.Join(items, ",") + "]"
		default:
			var out []string
			for _, name := range append([]string{"z"}, names...) {
				if rapid.Bool().Draw(t, "member") {
					out = append(out, fmt.Sprintf(`"%s":%s`, name, randomValue(depth-1).Draw(t, "value")))
				}
			}
			return "{" + strings.Join(out, ",") + "}"
		}
	})
}
