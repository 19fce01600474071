// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// values are claims as an expression sees them. A number that it could not hold
// exactly is an error: it would be compared as another one.
func values(claims tool.JSON) (map[string]any, error) {
	if claims.IsZero() {
		return map[string]any{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(claims.Bytes()))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("no object: %w", err)
	}
	_, err := exact(m)
	return m, err
}

// exact puts numbers of Go in the place of those of JSON, in what a value is made
// of.
func exact(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if v[k], err = exact(v[k]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = exact(v[i]); err != nil {
				return nil, err
			}
		}
	case json.Number:
		return number(v)
	}
	return v, nil
}

func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %.40s cannot be held", n)
	}
	said, _ := new(big.Rat).SetString(n.String())
	held, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if said == nil || held == nil || said.Cmp(held) != 0 {
		return nil, fmt.Errorf("the number %.40s cannot be held exactly", n)
	}
	return f, nil
}
