// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/google/jsonschema-go/jsonschema"
)

// Given is a schema that an author wrote.
type Given struct{ resolved *jsonschema.Resolved }

// Parse checks a schema that an author wrote; with object, that it describes
// objects. It may not refer to other documents.
func Parse(text json.RawMessage, object bool) (*Given, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, errors.New("not a JSON object")
	}
	if object && string(fields["type"]) != `"object"` {
		return nil, errors.New(`the root must have "type": "object"`)
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &Given{resolved}, nil
}

// Validate judges data by the schema; see [Type.Validate].
func (g *Given) Validate(data []byte) error { return validate(g.resolved, data) }

func validate(r *jsonschema.Resolved, data []byte) error {
	if r == nil {
		return nil
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return r.Validate(machine(value))
}

// machine gives numbers the types that jsonschema-go judges. The largest
// integers and fractions are judged as the nearest that there are.
func machine(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return max(-math.MaxFloat64, min(f, math.MaxFloat64))
	case []any:
		for i := range v {
			v[i] = machine(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = machine(v[k])
		}
	}
	return v
}
