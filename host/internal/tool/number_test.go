// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestNumbersHaveOneCanonicalForm(t *testing.T) {
	nines := strings.Repeat("9", 1024)
	for in, want := range map[string]string{
		// Digits survive where RFC 8785 would round to a double.
		"9007199254740993":                      "9007199254740993",
		"-9007199254740993":                     "-9007199254740993",
		"333333333.33333329":                    "333333333.33333329",
		"0.1000000000000000055511151231257827":  "0.1000000000000000055511151231257827",
		"123456789012345678901":                 "123456789012345678901",
		"1234567890123456789012":                "1.234567890123456789012e+21",
		"1234567890123456789012.5":              "1.2345678901234567890125e+21",
		"0.00000012345678901234567890123":       "1.2345678901234567890123e-7",
		"1.7976931348623157e308":                "1.7976931348623157e+308",
		"5e-324":                                "5e-324",
		"1e400":                                 "1e+400",
		"1e-400":                                "1e-400",
		"1e00000000000000000000000000000000400": "1e+400",
		// One value, one form.
		"1.10":    "1.1",
		"1.0":     "1",
		"100":     "100",
		"1e2":     "100",
		"1.0E+2":  "100",
		"1000e-1": "100",
		"0.1e1":   "1",
		"1e+01":   "10",
		"1e-01":   "0.1",
		"1E0":     "1",
		"1e-0":    "1",
		"-0":      "0",
		"0.0":     "0",
		"-0.00":   "0",
		"0e400":   "0",
		"-0e-400": "0",
		// The layout of ECMAScript's Number-to-string.
		"1e20":                          "100000000000000000000",
		"1e21":                          "1e+21",
		"-1e21":                         "-1e+21",
		"1000000000000000000000":        "1e+21",
		"12e20":                         "1.2e+21",
		"0.000001":                      "0.000001",
		"0.0000010":                     "0.000001",
		"1e-6":                          "0.000001",
		"1e-7":                          "1e-7",
		"0.00000012":                    "1.2e-7",
		"4.50":                          "4.5",
		"2e-3":                          "0.002",
		"0.000000000000000000000000001": "1e-27",
		// Where that layout would leave the bounds, no exponent.
		"10e400":                               "1" + strings.Repeat("0", 401),
		"-0.1e-400":                            "-0." + strings.Repeat("0", 400) + "1",
		nines:                                  nines,
		"1" + strings.Repeat("0", 1023):        "1" + strings.Repeat("0", 1023),
		"1" + strings.Repeat("0", 400):         "1e+400",
		"0." + strings.Repeat("0", 1021) + "1": "0." + strings.Repeat("0", 1021) + "1",
		nines[:30] + "." + nines[:993]:         nines[:30] + "." + nines[:993],
		"1." + nines[:1018] + "e300":           "1" + nines[:300] + "." + nines[:718],
		"1." + nines[:1017] + "e300":           "1." + nines[:1017] + "e+300",
	} {
		j, err := tool.ParseJSON([]byte(in))
		if err != nil {
			t.Errorf("%.60s: %v", in, err)
			continue
		}
		if got := string(j.Canonical()); got != want {
			t.Errorf("%.60s: got %.60s, want %.60s", in, got, want)
		}
		again, err := tool.ParseJSON(j.Canonical())
		if err != nil || string(again.Canonical()) != want {
			t.Errorf("%.60s: not idempotent: %.60s, %v", in, again.Canonical(), err)
		}
	}
}

func TestNumbersAreRefused(t *testing.T) {
	ones := strings.Repeat("1", 1025)
	for in, want := range map[string]string{
		"-":                        "invalid number at offset 1",
		"-a":                       "invalid number at offset 1",
		"1.":                       "invalid number at offset 2",
		"1.e5":                     "invalid number at offset 2",
		"1e":                       "invalid number at offset 2",
		"1e+":                      "invalid number at offset 3",
		"01":                       "number with a leading zero at offset 2",
		"-01":                      "number with a leading zero at offset 3",
		"00":                       "number with a leading zero at offset 2",
		"1e401":                    "exponent over 400 at offset 5",
		"1E+401":                   "exponent over 400 at offset 6",
		"1e-401":                   "exponent over 400 at offset 6",
		"0e401":                    "exponent over 400 at offset 5",
		"1e0000000401":             "exponent over 400 at offset 12",
		"1e9999999999999999999999": "exponent over 400 at offset 24",
		ones:                       "number longer than 1024 bytes at offset 1025",
		"0." + ones[:1023]:         "number longer than 1024 bytes at offset 1025",
		ones[:1000] + "e400":       "number longer than 1024 bytes when written out at offset 1004",
		"0." + strings.Repeat("0", 1000) + "1e-400": "number longer than 1024 bytes when written out at offset 1008",
		"+1":       "unexpected character at offset 0",
		".5":       "unexpected character at offset 0",
		"NaN":      "unexpected character at offset 0",
		"Infinity": "unexpected character at offset 0",
		"0x10":     "more than one JSON value at offset 1",
		"1_000":    "more than one JSON value at offset 1",
	} {
		if _, err := tool.ParseJSON([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%.40s: got %v, want %s", in, err, want)
		}
	}
}
