// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"strconv"
)

// accepts reports whether the shape is sure of a canonical value.
func (s *shape) accepts(canonical []byte) bool {
	if canonical[0] == '{' && s.object && s.choices == nil && len(s.properties) == 0 && !s.closed &&
		s.others == nil && s.unlessNull == nil {
		return true
	}
	r := reader{in: canonical}
	return r.value(s)
}

// reader walks canonical JSON: no space, normalised numbers, minimal escapes.
type reader struct {
	in  []byte
	pos int
}

// value reports whether s accepts the value at pos, and moves behind it. After
// false pos is anywhere.
func (r *reader) value(s *shape) bool {
	if s.unlessNull != nil {
		if r.in[r.pos] == 'n' {
			r.pos += len("null")
			return true
		}
		s = s.unlessNull
	}
	switch r.in[r.pos] {
	case '{':
		return s.object && r.object(s)
	case '[':
		return s.array && r.array(s)
	case '"':
		return s.text && r.text(s)
	case 't':
		return s.boolean && s.chosen(r.take(4))
	case 'f':
		return s.boolean && s.chosen(r.take(5))
	case 'n':
		return s.null && s.chosen(r.take(4))
	default:
		return s.integer && r.number(s)
	}
}

func (r *reader) take(n int) []byte {
	r.pos += n
	return r.in[r.pos-n : r.pos]
}

// chosen reports whether a scalar is among the choices.
func (s *shape) chosen(scalar []byte) bool {
	if s.choices == nil {
		return true
	}
	for _, c := range s.choices {
		if bytes.Equal(c, scalar) {
			return true
		}
	}
	return false
}

// number accepts integers up to 18 digits, and others where nothing but a
// number is asked for.
func (r *reader) number(s *shape) bool {
	word := r.plain()
	integer := bytes.IndexByte(word, '.') < 0 && bytes.IndexByte(word, 'e') < 0
	if !s.chosen(word) || !integer && !s.number {
		return false
	}
	if s.min == -unbounded && s.max == unbounded {
		return true
	}
	if !integer || len(word) > 18 {
		return false
	}
	v, err := strconv.ParseInt(string(word), 10, 64)
	return err == nil && s.min <= v && v <= s.max
}

// plain moves behind a number, true, false or null, and returns it.
func (r *reader) plain() []byte {
	start := r.pos
	for r.pos < len(r.in) {
		if c := r.in[r.pos]; c == ',' || c == ']' || c == '}' {
			break
		}
		r.pos++
	}
	return r.in[start:r.pos]
}

func (r *reader) text(s *shape) bool {
	start := r.pos
	length := r.string()
	quoted := r.in[start:r.pos]
	if length < s.minLength || length > s.maxLength || !s.chosen(quoted) {
		return false
	}
	if s.pattern == nil {
		return true
	}
	said := quoted[1 : len(quoted)-1] // unless something is escaped
	return bytes.IndexByte(said, '\\') < 0 && s.pattern.match(said)
}

// string moves behind a string and returns its length in code points.
func (r *reader) string() int {
	length := 0
	for r.pos++; ; r.pos++ {
		switch c := r.in[r.pos]; {
		case c == '"':
			r.pos++
			return length
		case c == '\\':
			r.pos++
			if r.in[r.pos] == 'u' {
				r.pos += 4
			}
			length++
		case c&0xc0 != 0x80: // not the continuation of a code point
			length++
		}
	}
}

func (r *reader) array(s *shape) bool {
	n := 0
	for r.pos++; r.in[r.pos] != ']'; n++ {
		if r.in[r.pos] == ',' {
			r.pos++
		}
		if s.items == nil {
			r.skip()
		} else if !r.value(s.items) {
			return false
		}
	}
	r.pos++
	return s.fewest <= n && n <= s.most
}

func (r *reader) object(s *shape) bool {
	required := 0
	for r.pos++; r.in[r.pos] != '}'; {
		if r.in[r.pos] == ',' {
			r.pos++
		}
		start := r.pos
		r.string()
		p, ok := s.properties[string(r.in[start+1:r.pos-1])]
		r.pos++ // :
		switch {
		case ok:
			if p.required {
				required++
			}
			if !r.value(p.shape) {
				return false
			}
		case s.closed:
			return false
		case s.others != nil:
			if !r.value(s.others) {
				return false
			}
		default:
			r.skip()
		}
	}
	r.pos++
	return required == s.required
}

// skip moves behind the value at pos.
func (r *reader) skip() {
	for depth := 0; ; {
		switch r.in[r.pos] {
		case '{', '[':
			depth++
			r.pos++
		case '}', ']':
			depth--
			r.pos++
		case '"':
			r.string()
		case ',', ':':
			r.pos++
			continue
		default: // a number, true, false or null
			r.plain()
		}
		if depth == 0 {
			return
		}
	}
}
