// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

func TestNumbersAreBoundWithoutLosingADigit(t *testing.T) {
	integer := func(i int64) Param { return Param{Kind: ParamInt, Int: i} }
	float := func(f float64) Param { return Param{Kind: ParamFloat, Float: f} }
	text := func(s string) Param { return Param{Kind: ParamText, Text: s} }
	for in, want := range map[string]Param{
		`0`:                       integer(0),
		`-7`:                      integer(-7),
		`9007199254740993`:        integer(9007199254740993),
		`9223372036854775807`:     integer(math.MaxInt64),
		`-9223372036854775808`:    integer(math.MinInt64),
		`9223372036854775808`:     text("9223372036854775808"),
		`18446744073709551616`:    text("18446744073709551616"), // the float prints as ...52000
		`1e3`:                     float(1000),
		`1.0`:                     float(1),
		`5.00`:                    float(5),
		`0.1`:                     float(0.1),
		`-0.0`:                    float(math.Copysign(0, -1)),
		`1.5E+2`:                  float(150),
		`0.12345678901234567890`:  text("0.12345678901234567890"),
		`9007199254740993.0`:      integer(9007199254740993),
		`9007199254740993e0`:      integer(9007199254740993),
		`9007199254740993.5`:      text("9007199254740993.5"),
		`1e400`:                   text("1e400"),
		`-1e400`:                  text("-1e400"),
		`1e-400`:                  text("1e-400"),
		`1e999999999999999999999`: text("1e999999999999999999999"),
		`100000000000000000000000000000000000000000000000000000000000000000000`: float(1e68),
		`"1.10"`: text("1.10"), `""`: text(""), `"\u0000"`: text("\x00"),
		`true`: {Kind: ParamBool, Bool: true}, `false`: {Kind: ParamBool}, `null`: {}, "\t1\n": integer(1),
	} {
		got, err := ParseParams([]json.RawMessage{json.RawMessage(in)})
		if err != nil || len(got) != 1 || got[0] != want && !(got[0].Kind == ParamFloat && math.Float64bits(got[0].Float) == math.Float64bits(want.Float)) {
			t.Errorf("%s: %+v %v, want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{`[1]`, `{"a":1}`, ``} {
		_, err := ParseParams([]json.RawMessage{json.RawMessage("1"), json.RawMessage(in)})
		var told *toolwharf.Error
		if !errors.As(err, &told) || told.Code != CodeBindValue || !strings.Contains(told.Text, "params[1]") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestErrorsStayShort(t *testing.T) {
	long := strings.Repeat("ü", 10_000)
	for _, err := range []error{NotSelect(long), TableNotAllowed(long), FunctionNotAllowed(long), SyntaxAt(long, 1)} {
		if n := len(err.Error()); n > 400 {
			t.Errorf("%d bytes: %.50s", n, err)
		}
	}
}
