// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// ParamKind is what a [Param] is bound as.
type ParamKind uint8

// The kinds. A JSON true or false is ParamBool; engines without booleans bind
// 1 or 0.
const (
	ParamNull ParamKind = iota
	ParamBool
	ParamInt
	ParamFloat
	ParamText
)

// Param is one bound value. [ParseParams] reads it from JSON without losing a
// digit: a number without fraction and exponent is an int64 if it fits; any
// other number is a float64 if that float64, printed, is the same number, and
// else the text of the number, which databases compare as a number where the
// other side is one.
type Param struct {
	Kind  ParamKind
	Bool  bool
	Int   int64
	Float float64
	Text  string
}

// ParseParams reads parameters from JSON scalars.
func ParseParams(values []json.RawMessage) ([]Param, error) {
	if len(values) == 0 {
		return nil, nil
	}
	params := make([]Param, len(values))
	for i, v := range values {
		p, ok := parseParam(v)
		if !ok {
			return nil, BindValue(i, "a parameter is a string, a number, true, false or null")
		}
		params[i] = p
	}
	return params, nil
}

func parseParam(value json.RawMessage) (Param, bool) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return Param{}, false
	}
	switch value[0] {
	case 'n':
		return Param{Kind: ParamNull}, true
	case 't', 'f':
		return Param{Kind: ParamBool, Bool: value[0] == 't'}, true
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return Param{Kind: ParamText, Text: s}, err == nil
	case '{', '[':
		return Param{}, false
	}
	return number(string(value)), true
}

// number decides how the JSON number s is bound.
func number(s string) Param {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Param{Kind: ParamInt, Int: i}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && sameNumber(s, f) {
		return Param{Kind: ParamFloat, Float: f}
	}
	if i, ok := wholeNumber(s); ok {
		return Param{Kind: ParamInt, Int: i}
	}
	return Param{Kind: ParamText, Text: s}
}

// sameNumber says whether f, printed as short as it can be read back, is the
// decimal s.
func sameNumber(s string, f float64) bool {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return false
	}
	return decimal(s) == decimal(strconv.FormatFloat(f, 'e', -1, 64))
}

// decimal is a number in a form of which equal numbers have one: sign, digits
// without zeros at either end, and the exponent of the last digit.
func decimal(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil {
			return sign + s // beyond any float64; equal to nothing
		}
		exp, s = n, s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exp -= len(fraction)
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return sign + "0"
	}
	return sign + short + "e" + strconv.Itoa(exp+len(digits)-len(short))
}

// wholeNumber reads a number that is written with a fraction or an exponent
// and is an int64 all the same, such as 9007199254740993.0.
func wholeNumber(s string) (int64, bool) {
	const longest = 64 // keeps an exponent from building a huge number
	if len(s) > longest || len(decimal(s)) > longest {
		return 0, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > longest || e < -longest {
			return 0, false
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}
