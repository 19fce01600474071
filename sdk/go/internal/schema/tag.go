// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// applyTags puts the tags of f into s and into what decoding knows of it.
func (b *builder) applyTags(f field, s *jsonschema.Schema, inner *shape, where string) *shape {
	t := base(f.Type)
	if text, ok := f.Tag.Lookup("format"); ok {
		if s.Type != "string" && (len(s.Types) == 0 || s.Types[0] != "string") {
			b.fault(where, "format is for text")
		}
		s.Format = text
	}
	if text, ok := f.Tag.Lookup("enum"); ok {
		target, of := s, t
		if (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && s.Items != nil {
			target, of = s.Items, base(t.Elem())
		}
		for value := range strings.SplitSeq(text, ",") {
			v, err := literal(of, target, strings.TrimSpace(value))
			if err != nil {
				b.fault(where, "enum: %v", err)
				continue
			}
			target.Enum = append(target.Enum, v)
		}
		if slices.Contains(target.Types, "null") {
			target.Enum = append(target.Enum, nil)
		}
	}
	inner = b.applyBounds(f, t, s, inner, where)
	if text, ok := f.Tag.Lookup("default"); ok {
		inner = b.applyDefault(f, t, s, inner, text, where)
	}
	return inner
}

func (b *builder) applyBounds(f field, t reflect.Type, s *jsonschema.Schema, inner *shape, where string) *shape {
	for _, name := range []string{"min", "max"} {
		text, ok := f.Tag.Lookup(name)
		if !ok {
			continue
		}
		isMin := name == "min"
		if t == typeDuration {
			d, err := time.ParseDuration(text)
			if err != nil {
				b.fault(where, "%s: %v", name, err)
				continue
			}
			if isMin {
				inner.min = &d
			} else {
				inner.max = &d
			}
			continue
		}
		if err := bound(s, isMin, text); err != nil {
			b.fault(where, "%s: %v", name, err)
		}
	}
	return inner
}

// number10 is a decimal number whose exponent is none that is worked out for ever.
var number10 = regexp.MustCompile(`^[+-]?[0-9]{0,64}(\.[0-9]{0,64})?([eE][+-]?[0-9]{1,3})?$`)

// bound sets the bound that suits the type of s.
func bound(s *jsonschema.Schema, isMin bool, text string) error {
	kind := s.Type
	for _, t := range s.Types {
		if t != "null" {
			kind = t
		}
	}
	number := &s.Maximum
	if isMin {
		number = &s.Minimum
	}
	var length **int
	switch kind {
	case "integer", "number":
		r, ok := new(big.Rat), number10.MatchString(text)
		if ok {
			r, ok = r.SetString(text)
		}
		if !ok {
			return fmt.Errorf("%q is not a number", text)
		}
		v, _ := r.Float64()
		if kind == "integer" && (!r.IsInt() || new(big.Rat).SetFloat64(v).Cmp(r) != 0) {
			return fmt.Errorf("%s cannot be held exactly", text)
		}
		*number = &v
		return nil
	case "string":
		length = pick(isMin, &s.MinLength, &s.MaxLength)
	case "array":
		length = pick(isMin, &s.MinItems, &s.MaxItems)
	case "object":
		length = pick(isMin, &s.MinProperties, &s.MaxProperties)
	default:
		return errors.New("bounds are for numbers, text and lists")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a length", text)
	}
	*length = &n
	return nil
}

func pick(first bool, a, b **int) **int {
	if first {
		return a
	}
	return b
}

func (b *builder) applyDefault(f field, t reflect.Type, s *jsonschema.Schema, inner *shape, text, where string) *shape {
	if s.WriteOnly {
		b.fault(where, "a secret has no default")
		return inner
	}
	raw := json.RawMessage(text)
	if s.Type == "string" && t.Kind() != reflect.Interface {
		raw, _ = marshal(text) // text is always JSON
	}
	if !json.Valid(raw) {
		b.fault(where, "default %q is not JSON", text)
		return inner
	}
	ready, err := reader{}.read(raw, inner, nil)
	if err == nil {
		err = json.Unmarshal(ready, reflect.New(f.Type).Interface())
	}
	if err != nil {
		b.fault(where, "default %q does not fit: %v", text, err)
		return inner
	}
	s.Default = raw
	if !b.input {
		return inner
	}
	if inner == nil {
		inner = new(shape)
	}
	inner.preset = raw
	return inner
}

// literal is one value of an enum.
func literal(t reflect.Type, s *jsonschema.Schema, text string) (any, error) {
	if s.Type == "string" || len(s.Types) > 0 && s.Types[0] == "string" {
		return text, nil
	}
	raw := json.RawMessage(text)
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		return nil, fmt.Errorf("%q does not fit: %w", text, err)
	}
	return json.Number(text), nil
}
