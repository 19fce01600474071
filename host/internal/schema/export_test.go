// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import "github.com/toolwharf/toolwharf/host/internal/tool"

// Quick reports whether the shape of s is sure of a value, and whether the
// library accepts it.
func (s *Schema) Quick(j tool.JSON) (sure, accepted bool) {
	sure = s.quick != nil && s.quick.accepts(j.Canonical())
	return sure, s.judge(parse(j).any(), 0) == nil
}
