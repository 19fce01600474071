// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Amount is what something costs, in billionths of the unit that the operator
// counts in. It is a whole number, so that sums are exact in every store.
type Amount int64

const (
	unit = 1_000_000_000
	// MaxAmount is a billion units, well within an int64.
	MaxAmount Amount = unit * unit
)

// ParseAmount reads a decimal of at most nine places that is not negative and at
// most a billion.
func ParseAmount(s string) (Amount, error) {
	r, ok := decimal(s)
	if !ok {
		return 0, fmt.Errorf("%q is no amount", s)
	}
	r.Mul(r, big.NewRat(unit, 1))
	switch {
	case r.Sign() < 0 || r.Cmp(big.NewRat(int64(MaxAmount), 1)) > 0:
		return 0, fmt.Errorf("%q is not between 0 and a billion", s)
	case !r.IsInt():
		return 0, fmt.Errorf("%q has more than nine places after the point", s)
	default:
		return Amount(r.Num().Int64()), nil
	}
}

// atLeast reads what an adapter says that a call has cost: rounded up, and at most
// MaxAmount; 0 for what is no decimal, or a negative one, which would give back
// what others have used.
func atLeast(s string) Amount {
	r, ok := decimal(s)
	if !ok || r.Sign() <= 0 {
		return 0
	}
	r.Mul(r, big.NewRat(unit, 1))
	if r.Cmp(big.NewRat(int64(MaxAmount), 1)) >= 0 {
		return MaxAmount
	}
	up := new(big.Int).Add(r.Num(), new(big.Int).Sub(r.Denom(), big.NewInt(1)))
	return Amount(up.Div(up, r.Denom()).Int64())
}

// decimal reads a JSON number within the bounds of package tool: an exponent makes
// a number of any size of a few characters.
func decimal(s string) (*big.Rat, bool) {
	if _, err := tool.ParseJSON([]byte(s)); err != nil || strings.TrimLeft(s, "-0123456789") == s {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// String returns the exact decimal.
func (a Amount) String() string {
	s := fmt.Sprintf("%d.%09d", int64(a)/unit, int64(a)%unit)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
