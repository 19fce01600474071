// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"errors"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// values are claims as an expression sees them. A number that it could not hold
// exactly is an error: it would be compared as another one.
func values(claims tool.JSON) (map[string]any, error) {
	if claims.IsZero() {
		return map[string]any{}, nil
	}
	v, err := claims.Exact()
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("no object")
	}
	return m, nil
}
