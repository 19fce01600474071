// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of one number, as for numbers in calls: the arithmetic of schemas is
// exact and would pay for every digit.
const (
	maxDigits   = 1000
	maxExponent = 400
)

// resolve reads a scalar by the core schema of YAML 1.2.2 (10.3), in which yes,
// no, on, off and dates are text. Numbers keep their digits. problem is not
// empty when the scalar cannot stand for a JSON value or is ambiguous.
func resolve(n *yaml.Node) (k kind, value, problem string) {
	tagged := n.Style&yaml.TaggedStyle != 0
	if tagged {
		switch n.Tag {
		case "!!str", "!":
			return text, n.Value, ""
		case "!!int", "!!float", "!!bool", "!!null":
		default:
			return text, n.Value, "the tag " + strconv.Quote(cut(n.Tag)) + " is not supported"
		}
	} else if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return text, n.Value, ""
	}
	k, value, problem = plain(n.Value)
	if tagged && problem == "" && k != tagKinds[n.Tag] {
		problem = "the value does not fit its tag " + n.Tag
	}
	return k, value, problem
}

var tagKinds = map[string]kind{"!!int": number, "!!float": number, "!!bool": boolean, "!!null": null}

// plain reads an unquoted scalar.
func plain(s string) (k kind, value, problem string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return null, "", ""
	case "true", "True", "TRUE":
		return boolean, "true", ""
	case "false", "False", "FALSE":
		return boolean, "false", ""
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return number, "0", "JSON has no such number; put it in quotes if it is text"
	}
	if digits, problem, ok := numeral(s); ok {
		return number, digits, problem
	}
	return text, s, ""
}

// numeral writes a YAML number as a JSON number with the same digits; ok is
// false when s is not a number.
func numeral(s string) (digits, problem string, ok bool) {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'o') {
		return based(s)
	}
	sign, rest := "", s
	switch {
	case strings.HasPrefix(rest, "-"):
		sign, rest = "-", rest[1:]
	case strings.HasPrefix(rest, "+"):
		rest = rest[1:]
	}
	whole, rest := span(rest)
	fraction, point := "", false
	if strings.HasPrefix(rest, ".") {
		point = true
		fraction, rest = span(rest[1:])
	}
	if whole == "" && fraction == "" {
		return "", "", false
	}
	exponent := ""
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		power := rest[1:]
		if power != "" && (power[0] == '-' || power[0] == '+') {
			power = power[1:]
		}
		var left string
		if power, left = span(power); power == "" || left != "" {
			return "", "", false
		}
		exponent, rest = rest, ""
		if len(strings.TrimLeft(power, "0")) > 3 {
			return "0", "the exponent is beyond 400", true
		}
		if n, _ := strconv.Atoi(power); n > maxExponent {
			return "0", "the exponent is beyond 400", true
		}
	}
	if rest != "" {
		return "", "", false
	}
	if len(whole)+len(fraction) > maxDigits {
		return "0", "the number has more than 1000 digits", true
	}
	if len(whole) > 1 && whole[0] == '0' {
		// YAML 1.1 reads 010 as 8, YAML 1.2 as 10, and a person may mean text.
		return "0", "a number with a leading zero is ambiguous; drop the zero, or put it in quotes if it is text", true
	}
	if whole == "" {
		whole = "0"
	}
	digits = sign + whole
	if point && fraction != "" {
		digits += "." + fraction
	}
	return digits + exponent, "", true
}

// based reads 0x1F and 0o17, which JSON has no form for.
func based(s string) (digits, problem string, ok bool) {
	base := 16
	if s[1] == 'o' {
		base = 8
	}
	if strings.ContainsAny(s[2:], "_+-") {
		return "", "", false
	}
	if len(s) > maxDigits {
		return "0", "the number has more than 1000 digits", true
	}
	n, ok := new(big.Int).SetString(s[2:], base)
	if !ok {
		return "", "", false
	}
	return n.String(), "", true
}

// span cuts s after its leading decimal digits.
func span(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}
