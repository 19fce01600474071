// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	_ "embed"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema.json
var schemaFile []byte

// Schema is the JSON Schema (2020-12) of toolwharf.yaml, for editors.
func Schema() []byte { return slices.Clone(schemaFile) }

// contract is schema.json, compiled once, when the first file is read.
type contract struct {
	root     shape
	compiled *jsonschema.Schema
}

var loadContract = sync.OnceValue(func() contract {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaFile))
	if err != nil {
		panic("config: schema.json: " + err.Error())
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		panic("config: schema.json: " + err.Error())
	}
	defs, _ := doc.(map[string]any)["$defs"].(map[string]any)
	root, _ := inline(doc, defs).(map[string]any)
	return contract{
		root:     shape{root},
		compiled: c.MustCompile("schema.json"),
	}
})
