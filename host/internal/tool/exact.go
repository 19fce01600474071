// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
)

// Exact returns the value as expressions see it: map[string]any, []any, string,
// bool, nil, int64 and, for what is none, float64. A number that neither holds with
// all of its digits is an error: it would be compared as another one. Two spellings
// of one value come to the same.
func (j JSON) Exact() (any, error) {
	if j.IsZero() {
		return nil, errors.New("there is no value")
	}
	r := reader{j.canonical}
	return r.value()
}

// reader reads the canonical form, of which it expects nothing else: there are no
// blanks, and nothing is missing.
type reader struct{ in []byte }

func (r *reader) value() (any, error) {
	switch r.in[0] {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return r.text()
	case 't':
		r.in = r.in[len("true"):]
		return true, nil
	case 'f':
		r.in = r.in[len("false"):]
		return false, nil
	case 'n':
		r.in = r.in[len("null"):]
		return nil, nil //nolint:nilnil // that is the value
	}
	end := bytes.IndexAny(r.in, ",]}")
	if end < 0 {
		end = len(r.in)
	}
	n := r.in[:end]
	r.in = r.in[end:]
	return held(string(n))
}

func (r *reader) object() (any, error) {
	m := map[string]any{}
	for r.in[0] != '}' {
		r.in = r.in[1:] // { or ,
		if r.in[0] == '}' {
			break
		}
		key, err := r.text()
		if err != nil {
			return nil, err
		}
		r.in = r.in[1:] // :
		if m[key], err = r.value(); err != nil {
			return nil, err
		}
	}
	r.in = r.in[1:]
	return m, nil
}

func (r *reader) array() (any, error) {
	list := []any{}
	for r.in[0] != ']' {
		r.in = r.in[1:] // [ or ,
		if r.in[0] == ']' {
			break
		}
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	r.in = r.in[1:]
	return list, nil
}

func (r *reader) text() (string, error) {
	end, plain := 1, true
	for ; r.in[end] != '"'; end++ {
		if r.in[end] == '\\' {
			plain = false
			end++
		}
	}
	raw := r.in[:end+1]
	r.in = r.in[end+1:]
	if plain {
		return string(raw[1:end]), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("no text: %w", err)
	}
	return s, nil
}

// held is a number as Go has it.
func held(n string) (any, error) {
	if i, err := strconv.ParseInt(n, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %.40s cannot be held", n)
	}
	said, ok := new(big.Rat).SetString(n)
	if ok && said.IsInt() { // it has no digits that were rounded away
		ok = said.Cmp(new(big.Rat).SetInt(integer(f))) == 0
	} else if ok {
		shortest, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		ok = said.Cmp(shortest) == 0
	}
	if !ok {
		return nil, fmt.Errorf("the number %.40s cannot be held exactly", n)
	}
	return f, nil
}

func integer(f float64) *big.Int {
	i, _ := big.NewFloat(f).Int(nil)
	return i
}
