// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// reader turns JSON as people write it into what encoding/json decodes:
// defaults filled in, durations as nanoseconds and, if asked to, integers
// without fraction and exponent. What does not look as it should is left for
// encoding/json to refuse, but for durations.
type reader struct{ integers bool }

func (r reader) read(data json.RawMessage, s *shape, path []string) (json.RawMessage, error) {
	if s == nil || !r.integers && !s.eager() {
		return data, nil
	}
	switch s.kind {
	case objectShape:
		return r.object(data, s, path)
	case dictShape:
		return members(data, func(key string, v json.RawMessage) (json.RawMessage, error) {
			return r.read(v, s.elem, append(path, key))
		}, nil)
	case listShape:
		return elements(data, func(i int, v json.RawMessage) (json.RawMessage, error) {
			return r.read(v, s.elem, append(path, strconv.Itoa(i)))
		})
	case durationShape:
		return nanoseconds(data, s, path)
	case integerShape:
		if r.integers {
			return wholeNumber(data), nil
		}
	default:
	}
	return data, nil
}

func (r reader) object(data json.RawMessage, s *shape, path []string) (json.RawMessage, error) {
	given := map[string]bool{}
	return members(data, func(key string, v json.RawMessage) (json.RawMessage, error) {
		f := s.fields[key]
		given[key] = true
		if f != nil && f.preset != nil && isNull(v) {
			v = f.preset
		}
		return r.read(v, f, append(path, key))
	}, func(add func(string, json.RawMessage)) error {
		for name, f := range s.fields {
			v := f.preset
			if v == nil && f.kind == objectShape && !f.optional && f.hasPreset() {
				v = json.RawMessage("{}")
			}
			if v == nil || given[name] {
				continue
			}
			v, err := r.read(v, f, append(path, name))
			if err != nil {
				return err
			}
			add(name, v)
		}
		return nil
	})
}

// nanoseconds turns "30s" into what a time.Duration decodes.
func nanoseconds(data json.RawMessage, s *shape, path []string) (json.RawMessage, error) {
	if isNull(data) {
		return data, nil
	}
	refuse := func(want string) (json.RawMessage, error) {
		return nil, &FieldError{Pointer: pointer(path), want: want}
	}
	var text string
	if json.Unmarshal(data, &text) != nil {
		return refuse(`a duration such as "30s"`)
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return refuse(`a duration such as "30s"`)
	case s.min != nil && d < *s.min:
		return refuse(fmt.Sprintf("at least %v", *s.min))
	case s.max != nil && d > *s.max:
		return refuse(fmt.Sprintf("at most %v", *s.max))
	}
	return strconv.AppendInt(nil, int64(d), 10), nil
}

// wholeNumber writes 42.0 and 4.2e1 as 42, and leaves everything else alone.
func wholeNumber(data json.RawMessage) json.RawMessage {
	text := strings.ToLower(string(bytes.TrimSpace(data)))
	if !strings.ContainsAny(text, ".e") || !strings.ContainsAny(text[:1], "-0123456789") {
		return data
	}
	// No integer type has that many digits; big.Rat would build them all.
	if _, exp, found := strings.Cut(text, "e"); found {
		if n, err := strconv.Atoi(exp); err != nil || n > 400 || n < -400 {
			return data
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() {
		return data
	}
	return json.RawMessage(r.Num().String())
}

func isNull(data json.RawMessage) bool { return string(bytes.TrimSpace(data)) == "null" }

// pointer is an RFC 6901 pointer.
func pointer(path []string) string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(escape.Replace(p))
	}
	return b.String()
}
