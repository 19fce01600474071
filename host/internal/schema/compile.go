// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Kind says what a schema is about.
type Kind int

const (
	// Input is the schema of a tool's arguments: its root says "object", or
	// nothing, which is taken for it: arguments are an object anyway.
	Input Kind = iota
	// Output is that of a tool's structured result: any value.
	Output
	// Config is the schema of an adapter's configuration, which holds secrets:
	// what is wrong is told without the values.
	Config
)

// Schema judges values. It is immutable and safe for concurrent use.
type Schema struct {
	kind     Kind
	raw      []byte
	compiled *jsonschema.Schema
	// quick accepts most good values without decoding them; nil: none.
	quick *shape
	// nodes and steps bound what a byte of a value can cost, unless the schema
	// is recursive; see affordable.
	nodes, steps int
	recursive    bool
}

// location is the library's name for every schema. It is never shown.
const location = "urn:toolwharf:schema"

// Compile reads a schema. Nothing at all stands, as Input, for a tool without
// arguments, as Output for a result that may be anything. An error is a *CompileError.
func Compile(raw json.RawMessage, kind Kind) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{}`)
		if kind == Input {
			raw = json.RawMessage(`{"type":"object","additionalProperties":false}`)
		}
	}
	doc, err := read(raw)
	if err != nil {
		return nil, err
	}
	s := &Schema{kind: kind, raw: raw}
	if err := s.bounds(doc); err != nil {
		return nil, err
	}
	if t := doc.rootType(); kind == Input && (t != "object" && t != "" || doc.root.kind != '{') {
		return nil, faultf("", `the root must say "type": "object"`)
	}
	if s.compiled, err = compile(doc); err != nil {
		return nil, err
	}
	if at, found := circle(s.compiled); found {
		return nil, faultf(pointerOf(at.Location), "the schema is defined by itself")
	}
	for sch := range everySchema(s.compiled) {
		forgetAnnotations(sch)
	}
	s.steps = regexSteps(s.compiled)
	s.quick = quickShape(s.compiled)
	return s, nil
}

// read parses a schema.
func read(raw json.RawMessage) (*document, error) {
	if len(raw) > MaxBytes {
		return nil, faultf("", "larger than %d bytes", MaxBytes)
	}
	j, err := tool.ParseJSON(raw)
	if err != nil {
		return nil, faultf("", "not valid JSON: %s", err)
	}
	root := parse(j)
	if !isSchema(root) {
		return nil, faultf("", "a schema is an object, true or false")
	}
	d, ok := dialectOf(root)
	if !ok {
		return nil, faultf("/$schema", "unknown dialect %s; 2020-12 and draft-07 are read",
			shown(string(root.get("$schema").append(nil)), maxShown))
	}
	return newDocument(root, d), nil
}

// bounds surveys a schema and finds its size.
func (s *Schema) bounds(doc *document) error {
	v := survey{doc: doc, seen: map[*node]bool{}}
	if err := v.all(); err != nil {
		return err
	}
	e := expand(doc)
	s.nodes = e.nodes(doc.root)
	s.recursive = e.recursive()
	if s.nodes > MaxNodes {
		return faultf("", "more than %d values once its references are replaced by what they name", MaxNodes)
	}
	return nil
}

// rootType returns the one type that the root, or what it refers to, gives
// values; empty if it gives none, "several" for more than one.
func (d *document) rootType() string {
	n := d.root
	for range MaxSubschemas { // references may go round in a circle
		if t := n.get("type"); t != nil && !d.dialect.refAlone(n) {
			if len(t.items) == 1 {
				t = t.items[0]
			}
			if s, ok := t.str(); ok {
				return s
			}
			return "several"
		}
		ref, _ := n.get("$ref").str()
		if n = d.resolve(ref); n == nil {
			break
		}
	}
	return ""
}

// compile hands a surveyed schema to the library. Whatever a schema from outside
// makes it do, the schema is refused and the host goes on.
func compile(doc *document) (compiled *jsonschema.Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			compiled, err = nil, faultf("", "it cannot be compiled")
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(engine)
	value := libraryForm(doc)
	if err := c.AddResource(location, value); err != nil {
		return nil, libraryFault(err)
	}
	compiled, err = c.Compile(location)
	var invalid *jsonschema.SchemaValidationError
	var verr *jsonschema.ValidationError
	switch {
	case err == nil:
		return compiled, nil
	case errors.As(err, &invalid) && errors.As(invalid.Err, &verr):
		return nil, metaFault(pointerOf(invalid.URL), verr, value)
	default:
		return nil, libraryFault(err)
	}
}

// libraryFault is a fault that only the library sees.
func libraryFault(err error) *CompileError {
	return faultf("", "%s", shown(strings.ReplaceAll(err.Error(), location, ""), maxList))
}

// noLoader refuses to load anything: schemas are judged by what they say.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is fetched") }

// counts are the keywords that the library keeps as ints.
var counts = [...]string{
	"maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength", "minProperties",
}

// libraryForm returns a schema as the library takes it: without "format", which
// it would judge in draft-07; there, without "const" beside a reference, which
// it does not ignore; without an $id at the root, to which local references owe
// nothing; and with counts that fit into an int. It changes doc.
func libraryForm(doc *document) any {
	seen := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, keyword := range refKeywords {
			ref, _ := n.get(keyword).str()
			if target := doc.resolve(ref); target != nil {
				visit(target)
			}
		}
		for _, sub := range doc.dialect.subschemas(n) {
			visit(sub)
		}
	}
	visit(doc.root)
	for n := range seen {
		alone := doc.dialect.refAlone(n)
		n.members = slices.DeleteFunc(n.members, func(m member) bool {
			s, ok := m.value.str()
			return ok && m.key == "format" || alone && m.key == "const" ||
				ok && m.key == "$id" && n == doc.root && !strings.HasPrefix(s, "#")
		})
		for _, keyword := range counts {
			if v := n.get(keyword); v != nil && v.kind == '0' {
				clamp(v)
			}
		}
	}
	return doc.root.any()
}

// clamp lowers a count to one that no value within the bounds reaches.
func clamp(n *node) {
	const most = 1 << 30
	if r, ok := new(big.Rat).SetString(n.text); ok && r.IsInt() && r.Num().Cmp(big.NewInt(most)) > 0 {
		n.text = strconv.Itoa(most)
	}
}
