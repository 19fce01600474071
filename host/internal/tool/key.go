// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"cmp"
	"unicode/utf8"
)

// compareKeys orders two canonical keys, without their quotes, by the UTF-16
// code units of what they say (RFC 8785, section 3.2.3). Equal keys have equal
// canonical forms.
func compareKeys(a, b []byte) int {
	if plain(a) && plain(b) {
		return bytes.Compare(a, b)
	}
	for len(a) > 0 && len(b) > 0 {
		r, n := said(a)
		q, m := said(b)
		if r != q {
			return cmp.Compare(unit(r), unit(q))
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// plain reports whether byte order is code unit order.
func plain(key []byte) bool {
	for _, c := range key {
		if c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

// said returns the first code point of a canonical key and how many bytes spell
// it.
func said(key []byte) (rune, int) {
	switch {
	case key[0] != '\\':
		return utf8.DecodeRune(key)
	case key[1] == 'u': // canonical: \u00XX
		return unhex(key[4])<<4 | unhex(key[5]), len(`\u00XX`)
	default:
		return unescape(key[1]), len(`\n`)
	}
}

// unit maps code points to numbers in the order of their UTF-16 code units:
// surrogates, in which those beyond U+FFFF begin, come before U+E000.
func unit(r rune) rune {
	const beyond = utf8.MaxRune + 1
	if r >= 0xE000 && r <= 0xFFFF {
		return r + beyond
	}
	return r
}
