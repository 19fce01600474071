// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends a JSON string to b. s is valid UTF-8.
func AppendString[T string | []byte](b []byte, s T) []byte { return appendString(b, s) }

// AppendFloat appends a JSON number to b. v is finite.
func AppendFloat(b []byte, v float64) []byte { return appendFloat(b, v) }

// appendString appends s, which is valid UTF-8, as a JSON string. Nothing is
// escaped that RFC 8259 does not demand: what is stored is what is read.
func appendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// appendFloat appends a finite float in the shortest form that reads back as
// the same float; -0 stays -0. Very small and very large ones get an exponent,
// as ECMAScript and encoding/json have it.
func appendFloat(b []byte, v float64) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, v, format, -1, 64)
	if n := len(b); format == 'e' && b[n-2] == '0' && b[n-3] == '-' {
		b[n-2] = b[n-1] // e-07 is e-7
		b = b[:n-1]
	}
	return b
}

// wholeRunes takes the last rune off b if it was cut in two.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		c := b[len(b)-i]
		if utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
