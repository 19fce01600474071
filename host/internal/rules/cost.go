// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Units of cost: one is a microsecond or two.
const (
	// maxCost is what one evaluation may cost.
	maxCost = 20_000
	// scanned bytes of text cost one unit.
	scanned = 100
	// stepped is how many steps of a regular expression cost one unit.
	stepped = 200
)

// toll says what calls cost whose cost hangs on their arguments. CEL does so itself
// where it knows types, and knows none of a call's arguments.
type toll struct{}

// CallCost is the cost of one call; nil is CEL's own.
func (toll) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	var n int
	switch function {
	case operators.In:
		if len(args) == 2 {
			n = size(args[1])
		}
	case operators.Add, overloads.TypeConvertString, overloads.TypeConvertBytes:
		n = length(result) / scanned
	case overloads.Contains, overloads.StartsWith, overloads.EndsWith:
		for _, a := range args {
			n += length(a) / scanned
		}
	case overloads.Matches:
		if len(args) == 2 {
			n = steps(args[0], args[1]) / stepped
		}
	default:
		return nil
	}
	cost := uint64(max(n, 0)) + 1
	return &cost
}

// size is how many elements a list has; a map finds a key at once.
func size(v ref.Val) int {
	if list, ok := v.(traits.Lister); ok {
		if n, ok := list.Size().(types.Int); ok {
			return int(n)
		}
	}
	return 0
}

// length is how many bytes a text has.
func length(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}
