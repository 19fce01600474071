// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "math/bits"

// matcher finds many patterns in one pass, after Wu and Manber ("A fast algorithm
// for multi-pattern searching", 1994): since every pattern is long, most of a
// text is skipped unread. An Aho-Corasick automaton reads each byte, and of the
// spellings of a few keys in PEM it would be some 100 MB.
//
// At worst, in a text made of beginnings of patterns, the time is that of
// comparing each place with the patterns that begin alike. The zero matcher has
// no patterns, and neither has a nil one.
type matcher struct {
	patterns []string
	least    int // length of the shortest
	// skip says for the hash of four bytes how far the window, of the length of
	// the shortest pattern, can move on when it ends with them. ends has the
	// patterns whose first bytes may fill the window when it cannot.
	skip  []uint8
	ends  map[uint32][]string
	shift uint
}

const block = 4

// newMatcher returns nil if no secret is long enough.
func newMatcher(secrets []string) *matcher {
	patterns := spellings(secrets)
	if len(patterns) == 0 {
		return nil
	}
	m := &matcher{patterns: patterns, least: len(patterns[0]), ends: map[uint32][]string{}}
	for _, p := range patterns {
		m.least = min(m.least, len(p))
	}
	m.least = min(m.least, 255)
	places := len(patterns) * (m.least - block + 1)
	const smallest, largest = 12, 20
	size := min(max(bits.Len(uint(places))+3, smallest), largest)
	m.shift = uint(32 - size)
	m.skip = make([]uint8, 1<<size)
	for i := range m.skip {
		m.skip[i] = uint8(m.least - block + 1) //nolint:gosec // at most 255
	}
	for _, p := range patterns {
		for i := 0; i+block <= m.least; i++ {
			h := m.hash(p[i], p[i+1], p[i+2], p[i+3])
			far := uint8(m.least - block - i) //nolint:gosec // likewise
			m.skip[h] = min(m.skip[h], far)
			if far == 0 {
				m.ends[h] = append(m.ends[h], p)
			}
		}
	}
	return m
}

func (m *matcher) hash(a, b, c, d byte) uint32 {
	const prime = 2654435761 // of Knuth's multiplicative hash
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16 | uint32(d)<<24) * prime >> m.shift
}

// span is a part of a text, from before to.
type span struct{ from, to int }

// find returns what is to be replaced, in order: where patterns overlap, all that
// any of them covers is one span.
func find[T string | []byte](m *matcher, text T) []span {
	if m == nil || len(text) < m.least {
		return nil
	}
	var spans []span
	for end := m.least; end <= len(text); {
		h := m.hash(text[end-4], text[end-3], text[end-2], text[end-1])
		if far := m.skip[h]; far > 0 {
			end += int(far)
			continue
		}
		from := end - m.least
		to := from
		for _, p := range m.ends[h] {
			if len(p) > to-from && from+len(p) <= len(text) && string(text[from:from+len(p)]) == p {
				to = from + len(p)
			}
		}
		if to > from {
			if last := len(spans) - 1; last >= 0 && from < spans[last].to {
				spans[last].to = max(spans[last].to, to)
			} else {
				spans = append(spans, span{from, to})
			}
		}
		end++
	}
	return spans
}
