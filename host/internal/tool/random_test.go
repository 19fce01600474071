// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// value is a random JSON value that can be spelled in many ways.
type value struct {
	kind    byte // { [ " 0, or l for a literal
	text    string
	number  decimal
	names   []string
	members []value // of an object in the order of names, or of an array
}

// decimal is digits with an exponent.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// runes are those that spelling treats in different ways.
var runes = rapid.SampledFrom([]rune{
	'a', 'b', 'z', 'A', '0', ' ', '/', '"', '\\', '\b', '\f', '\n', '\r', '\t', 0, 1, 0x1f, 0x7f, 0x80, 'é', 0x2028, '€',
	0xd7ff, 0xe000, 0xfb33, 0xff61, 0xfffd, 0xffff, 0x10000, '😀', utf8.MaxRune, '<',
})

func randomText(t *rapid.T) string {
	return string(rapid.SliceOfN(runes, 0, 3).Draw(t, "text"))
}

func randomValue(depth int) *rapid.Generator[value] {
	return rapid.Custom(func(t *rapid.T) value {
		most := 4
		if depth == 0 {
			most = 2
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return value{kind: 'l', text: rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal")}
		case 1:
			return value{kind: '"', text: randomText(t)}
		case 2:
			return value{kind: '0', number: decimal{
				negative: rapid.Bool().Draw(t, "negative"),
				digits:   rapid.StringMatching(`[0-9]{1,30}`).Draw(t, "digits"),
				exponent: rapid.IntRange(-40, 40).Draw(t, "exponent"),
			}}
		case 3:
			return value{kind: '[', members: rapid.SliceOfN(randomValue(depth-1), 0, 3).Draw(t, "items")}
		default:
			v := value{kind: '{'}
			for range rapid.IntRange(0, 10).Draw(t, "members") {
				if name := randomText(t); !slices.Contains(v.names, name) {
					v.names = append(v.names, name)
					v.members = append(v.members, randomValue(depth-1).Draw(t, "member"))
				}
			}
			return v
		}
	})
}

// spelling writes values, with every freedom that JSON leaves.
type spelling struct {
	t *rapid.T
	b strings.Builder
}

func spelled(t *rapid.T, v value) string {
	s := spelling{t: t}
	s.value(v)
	return s.b.String()
}

// may decides about one freedom.
func (s *spelling) may() bool { return rapid.Bool().Draw(s.t, "may") }

func (s *spelling) space() {
	if s.may() {
		s.b.WriteString(rapid.SampledFrom([]string{" ", "\t", "\n", "\r", "  \r\n"}).Draw(s.t, "space"))
	}
}

func (s *spelling) value(v value) {
	s.space()
	defer s.space()
	switch v.kind {
	case 'l':
		s.b.WriteString(v.text)
	case '"':
		s.text(v.text)
	case '0':
		s.number(v.number)
	case '[':
		s.b.WriteByte('[')
		for i, item := range v.members {
			if i > 0 {
				s.b.WriteByte(',')
			}
			s.value(item)
		}
		s.space()
		s.b.WriteByte(']')
	default:
		order := make([]int, len(v.names))
		for i := range order {
			order[i] = i
		}
		s.b.WriteByte('{')
		for i, k := range rapid.Permutation(order).Draw(s.t, "order") {
			if i > 0 {
				s.b.WriteByte(',')
			}
			s.space()
			s.text(v.names[k])
			s.space()
			s.b.WriteByte(':')
			s.value(v.members[k])
		}
		s.space()
		s.b.WriteByte('}')
	}
}

func (s *spelling) text(text string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	s.b.WriteByte('"')
	for _, r := range text {
		escape, hasShort := short[r]
		switch {
		case hasShort && s.may():
			s.b.WriteString(escape)
		case r >= 0x20 && r != '"' && r != '\\' && s.may():
			s.b.WriteRune(r)
		default:
			format := `\u%04x`
			if s.may() {
				format = `\u%04X`
			}
			for _, u := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&s.b, format, u)
			}
		}
	}
	s.b.WriteByte('"')
}

// number writes a decimal with its point anywhere.
func (s *spelling) number(d decimal) {
	digits, exponent := d.digits, d.exponent
	if s.may() { // zeros at the end
		digits, exponent = digits+"00", exponent-2
	}
	before := rapid.IntRange(1, len(digits)).Draw(s.t, "point")
	whole, fraction := digits[:before], digits[before:]
	exponent += len(fraction)
	if trimmed := strings.TrimLeft(whole, "0"); trimmed != "" {
		whole = trimmed
	} else {
		whole = "0"
	}
	if d.negative {
		s.b.WriteByte('-')
	}
	s.b.WriteString(whole)
	if fraction != "" {
		s.b.WriteString("." + fraction)
	}
	if exponent == 0 && s.may() {
		return
	}
	s.b.WriteString(rapid.SampledFrom([]string{"e", "E"}).Draw(s.t, "e"))
	switch {
	case exponent < 0:
		s.b.WriteByte('-')
		exponent = -exponent
	case s.may():
		s.b.WriteByte('+')
	}
	if s.may() {
		s.b.WriteString("00")
	}
	fmt.Fprint(&s.b, exponent)
}

// same compares what two values are, by other means than their canonical forms.
func same(a, b value) bool {
	if a.kind != b.kind || a.text != b.text || len(a.members) != len(b.members) {
		return false
	}
	if a.kind == '0' {
		return a.number.rat().Cmp(b.number.rat()) == 0
	}
	for i := range a.members {
		j := i
		if a.kind == '{' {
			if j = slices.Index(b.names, a.names[i]); j < 0 {
				return false
			}
		}
		if !same(a.members[i], b.members[j]) {
			return false
		}
	}
	return true
}

func (d decimal) rat() *big.Rat {
	r, ok := new(big.Rat).SetString(fmt.Sprintf("%se%d", d.digits, d.exponent))
	if !ok {
		panic(d)
	}
	if d.negative {
		r.Neg(r)
	}
	return r
}
