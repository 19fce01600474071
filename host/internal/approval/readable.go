// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxIndented is the size, in bytes, from which on arguments are broken into
// lines and not indented: what is nested deeply would be a hundred times as large.
const maxIndented = 128 << 10

// Readable returns arguments as a person can judge them: one member a line, every
// digit as it came, each character that would not be seen, or would change how the
// rest is seen, as its escape, and every other as itself, though its escape came.
// It is JSON of the same value.
func Readable(args []byte) string {
	indent := "  "
	if len(args) > maxIndented {
		indent = ""
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, args, "", indent); err != nil {
		return strconv.QuoteToASCII(string(args)) // never of arguments that were parsed
	}
	var b strings.Builder
	b.Grow(lines.Len())
	for rest := lines.String(); rest != ""; {
		r, raw := next(rest)
		rest = rest[len(raw):]
		switch {
		case raw == "\n", !Hidden(r) && (raw[0] != '\\' || r != '"' && r != '\\'):
			b.WriteRune(r)
		case raw[0] == '\\':
			b.WriteString(raw)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// asItIs stands for a character whose escape stays.
const asItIs = -1

// next returns the character that JSON begins with, and how it is written there.
func next(s string) (r rune, raw string) {
	if s[0] != '\\' || len(s) < 2 {
		r, n := utf8.DecodeRuneInString(s)
		return r, s[:n]
	}
	if s[1] != 'u' {
		if s[1] == '/' {
			return '/', s[:2]
		}
		return asItIs, s[:2] // it is short, and everybody knows it
	}
	unit := func(at int) rune {
		if len(s) < at+6 || s[at:at+2] != `\u` {
			return asItIs
		}
		n, err := strconv.ParseUint(s[at+2:at+6], 16, 16)
		if err != nil {
			return asItIs
		}
		return rune(n)
	}
	if r = unit(0); !utf16.IsSurrogate(r) {
		return r, s[:min(6, len(s))]
	}
	if r = utf16.DecodeRune(r, unit(6)); r == utf8.RuneError {
		r = asItIs
	}
	return r, s[:min(12, len(s))]
}

// Visible returns a text of others as a person can judge it: each character that
// would not be seen, or would change how the rest is seen, is written as
// \u{code}.
func Visible(s string) string {
	if !strings.ContainsFunc(s, Hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if Hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Hidden reports whether a character would not be seen where it stands, or would
// change how others are seen: controls, formats (bidirectional ones too), spaces
// that are no space, and letters and marks without a shape.
func Hidden(r rune) bool {
	return !unicode.IsPrint(r) || r == 0x2800 || // BRAILLE PATTERN BLANK
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
