// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// Encode writes a value of the type as JSON that fits the schema: what
// encoding/json writes, but durations are text and nil slices and maps are
// empty ones. A nil Type is any type: encoding/json alone.
func (t *Type) Encode(v any) (json.RawMessage, error) {
	data, err := marshal(v)
	if err != nil || t == nil || t.shape == nil {
		return data, err
	}
	if t.timed || t.shape.hollow(reflect.ValueOf(v)) {
		return dress(data, t.shape)
	}
	return data, nil
}

// dress is what Encode does to the text, where it has to.
func dress(data json.RawMessage, s *shape) (json.RawMessage, error) {
	if s == nil || s.optional && isNull(data) {
		return data, nil
	}
	switch s.kind {
	case objectShape:
		return members(data, func(key string, v json.RawMessage) (json.RawMessage, error) {
			return dress(v, s.fields[key])
		}, nil)
	case dictShape:
		if isNull(data) {
			return json.RawMessage("{}"), nil
		}
		return members(data, func(_ string, v json.RawMessage) (json.RawMessage, error) { return dress(v, s.elem) }, nil)
	case listShape:
		if isNull(data) {
			return json.RawMessage("[]"), nil
		}
		return elements(data, func(_ int, v json.RawMessage) (json.RawMessage, error) { return dress(v, s.elem) })
	case durationShape:
		if n, err := strconv.ParseInt(string(data), 10, 64); err == nil {
			return marshal(time.Duration(n).String())
		}
	default:
	}
	return data, nil
}
