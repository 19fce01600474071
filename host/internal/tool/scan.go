// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner checks in and writes its canonical form to out, in one pass.
type scanner struct {
	in    []byte
	pos   int
	depth int
	out   []byte
}

func (s *scanner) fail(reason string) error { return &SyntaxError{Offset: s.pos, Reason: reason} }

func (s *scanner) document() error {
	s.space()
	if s.pos == len(s.in) {
		return s.fail("no JSON value")
	}
	if err := s.value(); err != nil {
		return err
	}
	s.space()
	if s.pos != len(s.in) {
		return s.fail("more than one JSON value")
	}
	return nil
}

func (s *scanner) space() {
	for s.pos < len(s.in) {
		switch s.in[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end (0 itself is no JSON).
func (s *scanner) peek() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '{':
		return s.nested(s.object)
	case c == '[':
		return s.nested(s.array)
	case c == '"':
		return s.text()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case s.pos == len(s.in):
		return s.fail("unexpected end of JSON")
	default:
		return s.fail("unexpected character")
	}
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.in[s.pos:], []byte(word)) {
		return s.fail("unexpected character")
	}
	s.pos += len(word)
	s.out = append(s.out, word...)
	return nil
}

func (s *scanner) nested(inner func() error) error {
	if s.depth == MaxDepth {
		return s.fail("nested deeper than 64")
	}
	s.depth++
	s.out = append(s.out, s.in[s.pos])
	s.pos++
	s.space()
	err := inner()
	s.depth--
	return err
}

func (s *scanner) array() error {
	if s.peek() == ']' {
		s.pos++
		s.out = append(s.out, ']')
		return nil
	}
	for {
		s.space()
		if err := s.value(); err != nil {
			return err
		}
		s.space()
		c := s.peek()
		switch c {
		case ',', ']':
			s.pos++
			s.out = append(s.out, c)
		default:
			return s.fail("expected , or ] in an array")
		}
		if c == ']' {
			return nil
		}
	}
}

// member is where one member of an object stands in out, its key between its
// quotes and the whole of it, and at which offset it came.
type member struct{ start, keyEnd, end, at int }

func (m member) key(out []byte) []byte { return out[m.start+1 : m.keyEnd-1] }

func (s *scanner) object() error {
	open := len(s.out)
	if s.peek() == '}' {
		s.pos++
		s.out = append(s.out, '}')
		return nil
	}
	var few [8]member
	members := few[:0]
	sorted := true
	for {
		s.space()
		m := member{start: len(s.out), at: s.pos}
		if s.peek() != '"' {
			return s.fail("expected a key in an object")
		}
		if err := s.text(); err != nil {
			return err
		}
		m.keyEnd = len(s.out)
		if n := len(members); n > 0 && sorted {
			switch c := compareKeys(members[n-1].key(s.out), m.key(s.out)); {
			case c == 0:
				return s.duplicate(m)
			case c > 0:
				sorted = false
			}
		}
		s.space()
		if s.peek() != ':' {
			return s.fail("expected : after a key")
		}
		s.pos++
		s.out = append(s.out, ':')
		s.space()
		if err := s.value(); err != nil {
			return err
		}
		m.end = len(s.out)
		members = append(members, m)
		s.space()
		c := s.peek()
		if c != ',' && c != '}' {
			return s.fail("expected , or } in an object")
		}
		s.pos++
		s.out = append(s.out, c)
		if c == '}' {
			break
		}
	}
	if sorted {
		return nil
	}
	return s.sort(open, members)
}

// duplicate refuses a member whose key was there before.
func (s *scanner) duplicate(m member) error {
	const most = 64 // bytes of the key that are told
	key := string(m.key(s.out))
	if len(key) > most {
		key = strings.ToValidUTF8(key[:most], "") + "..."
	}
	return &SyntaxError{Offset: m.at, Reason: `duplicate key "` + key + `"`}
}

// sort puts the members of the object that begins at open in the order of
// RFC 8785, section 3.2.3.
func (s *scanner) sort(open int, members []member) error {
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(compareKeys(a.key(s.out), b.key(s.out)), cmp.Compare(a.at, b.at))
	})
	var again *member // the first that was there before
	for i := 1; i < len(members); i++ {
		m := &members[i]
		if bytes.Equal(members[i-1].key(s.out), m.key(s.out)) && (again == nil || m.at < again.at) {
			again = m
		}
	}
	if again != nil {
		return s.duplicate(*again)
	}
	ordered := make([]byte, 0, len(s.out)-open)
	for i, m := range members {
		if i > 0 {
			ordered = append(ordered, ',')
		}
		ordered = append(ordered, s.out[m.start:m.end]...)
	}
	copy(s.out[open:], append(ordered, '}'))
	return nil
}

func (s *scanner) text() error {
	s.out = append(s.out, '"')
	s.pos++
	for {
		if s.pos >= len(s.in) {
			return s.fail("unterminated string")
		}
		switch c := s.in[s.pos]; {
		case c == '"':
			s.pos++
			s.out = append(s.out, '"')
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < 0x20:
			return s.fail("control character in a string")
		case c < utf8.RuneSelf:
			s.out = append(s.out, c)
			s.pos++
		default:
			r, n := utf8.DecodeRune(s.in[s.pos:])
			if r == utf8.RuneError && n == 1 {
				return s.fail("invalid UTF-8")
			}
			s.out = append(s.out, s.in[s.pos:s.pos+n]...)
			s.pos += n
		}
	}
}

func (s *scanner) escape() error {
	if s.pos+1 >= len(s.in) {
		return s.fail("unterminated string")
	}
	c := s.in[s.pos+1]
	if c != 'u' {
		r := unescape(c)
		if r < 0 {
			return s.fail("invalid escape in a string")
		}
		s.pos += 2
		s.rune(r)
		return nil
	}
	r, ok := s.hex4(s.pos + 2)
	if !ok {
		return s.fail("invalid \\u escape in a string")
	}
	if utf16.IsSurrogate(r) {
		low, ok := s.hex4(s.pos + 8)
		if !ok || s.in[s.pos+6] != '\\' || s.in[s.pos+7] != 'u' {
			return s.fail("lone surrogate in a string")
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return s.fail("lone surrogate in a string")
		}
		s.pos += 6
	}
	s.pos += 6
	s.rune(r)
	return nil
}

// hex4 reads four hex digits at an offset.
func (s *scanner) hex4(at int) (rune, bool) {
	if at+4 > len(s.in) {
		return 0, false
	}
	var r rune
	for _, c := range s.in[at : at+4] {
		d := unhex(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}

// rune writes r as RFC 8785, section 3.2.2.2, has it.
func (s *scanner) rune(r rune) {
	const digits = "0123456789abcdef"
	switch r {
	case '"', '\\':
		s.out = append(s.out, '\\', byte(r))
	case '\b':
		s.out = append(s.out, '\\', 'b')
	case '\f':
		s.out = append(s.out, '\\', 'f')
	case '\n':
		s.out = append(s.out, '\\', 'n')
	case '\r':
		s.out = append(s.out, '\\', 'r')
	case '\t':
		s.out = append(s.out, '\\', 't')
	default:
		if r < 0x20 {
			s.out = append(s.out, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
			return
		}
		s.out = utf8.AppendRune(s.out, r)
	}
}

// unescape returns what a one-letter escape stands for, -1 for none.
func unescape(c byte) rune {
	switch c {
	case '"', '\\', '/':
		return rune(c)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return -1
	}
}

func unhex(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	default:
		return -1
	}
}
