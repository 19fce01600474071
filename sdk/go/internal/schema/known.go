// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding"
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

var (
	typeDuration = reflect.TypeFor[time.Duration]()
	typeRaw      = reflect.TypeFor[json.RawMessage]()

	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// durationPattern is what time.ParseDuration reads. (The format "duration" of
// JSON Schema is another thing: ISO 8601.)
const durationPattern = `^(0|[+-]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`

// standard is how types of the standard library are marshalled. Inference takes
// copies of the schemas.
var standard = Known{
	typeDuration:                   {Type: "string", Pattern: durationPattern},
	typeRaw:                        {},
	reflect.TypeFor[json.Number](): {Type: "number"},
	reflect.TypeFor[time.Time]():   {Type: "string", Format: "date-time"},
	reflect.TypeFor[[]byte]():      {Type: "string", ContentEncoding: "base64"},
	reflect.TypeFor[big.Int]():     {Type: "integer"},
}

// and returns both.
func (k Known) and(others Known) Known {
	all := maps.Clone(k)
	maps.Copy(all, others)
	return all
}

// survey finds the types beneath t that marshal themselves, which inference
// would take apart, and notes schemas for them.
func (b *builder) survey(t reflect.Type) {
	t = base(t)
	if b.seen[t] || b.known[t] != nil {
		return
	}
	b.seen[t] = true
	switch {
	case has(t, jsonMarshaler) || has(t, jsonUnmarshaler):
		b.known[t] = &jsonschema.Schema{}
		return
	case t.Kind() != reflect.Interface && (has(t, textMarshaler) || has(t, textUnmarshaler)):
		b.known[t] = &jsonschema.Schema{Type: "string"}
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		b.known[t] = &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
		return
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		b.survey(t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() {
				b.survey(f.Type)
			}
		}
	}
}

func has(t, iface reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	return t.Implements(iface) || reflect.PointerTo(t).Implements(iface)
}
