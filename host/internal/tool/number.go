// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"strconv"
)

// number checks a number (RFC 8259, section 6) and writes it as an exact
// normalised decimal: the layout of ECMAScript's Number-to-string (RFC 8785,
// section 3.2.2.3), with all of its digits.
func (s *scanner) number() error {
	start := s.pos
	negative := s.peek() == '-'
	if negative {
		s.pos++
	}
	whole := s.digits()
	switch {
	case len(whole) == 0:
		return s.fail("invalid number")
	case len(whole) > 1 && whole[0] == '0':
		return s.fail("number with a leading zero")
	}
	var fraction []byte
	if s.peek() == '.' {
		s.pos++
		if fraction = s.digits(); len(fraction) == 0 {
			return s.fail("invalid number")
		}
	}
	exponent, err := s.exponent()
	if err != nil {
		return err
	}
	if s.pos-start > MaxNumber {
		return s.fail("number longer than 1024 bytes")
	}
	return s.decimal(negative, whole, fraction, exponent)
}

func (s *scanner) digits() []byte {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.in[start:s.pos]
}

func (s *scanner) exponent() (int, error) {
	if c := s.peek(); c != 'e' && c != 'E' {
		return 0, nil
	}
	s.pos++
	sign := 1
	switch s.peek() {
	case '-':
		sign = -1
		s.pos++
	case '+':
		s.pos++
	}
	digits := s.digits()
	if len(digits) == 0 {
		return 0, s.fail("invalid number")
	}
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) > 3 {
		return 0, s.fail("exponent over 400")
	}
	n := 0
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	if n > MaxExponent {
		return 0, s.fail("exponent over 400")
	}
	return sign * n, nil
}

// decimal writes the number. point is where the decimal point stands, counted
// from the first significant digit.
//
// Moving the point to the first digit can push the exponent, or the length,
// beyond what is read: 0.1e-400 would become 1e-401. Such numbers are written
// without an exponent, so that a canonical form is always JSON as ParseJSON has
// it; the few for which that is too long as well are refused.
func (s *scanner) decimal(negative bool, whole, fraction []byte, exponent int) error {
	const plain = 21 // ECMAScript writes larger ones with an exponent
	digits := make([]byte, 0, 64)
	digits = append(append(digits, whole...), fraction...)
	point := len(whole) + exponent
	leading := len(digits) - len(bytes.TrimLeft(digits, "0"))
	digits = bytes.TrimRight(digits[leading:], "0")
	point -= leading
	if len(digits) == 0 { // also -0: JSON readers take it for 0
		s.out = append(s.out, '0')
		return nil
	}
	start := len(s.out)
	if negative {
		s.out = append(s.out, '-')
	}
	before := len(s.out)
	if -6 < point && point <= plain {
		s.plain(digits, point)
		return nil
	}
	s.scientific(digits, point-1)
	if point-1 < -MaxExponent || point-1 > MaxExponent || len(s.out)-start > MaxNumber {
		s.out = s.out[:before]
		s.plain(digits, point)
	}
	if len(s.out)-start > MaxNumber {
		return s.fail("number longer than 1024 bytes when written out")
	}
	return nil
}

// plain writes a number without an exponent.
func (s *scanner) plain(digits []byte, point int) {
	switch n := len(digits); {
	case n <= point:
		s.out = append(s.out, digits...)
		s.zeros(point - n)
	case 0 < point:
		s.out = append(s.out, digits[:point]...)
		s.out = append(s.out, '.')
		s.out = append(s.out, digits[point:]...)
	default:
		s.out = append(s.out, '0', '.')
		s.zeros(-point)
		s.out = append(s.out, digits...)
	}
}

// scientific writes a number with one digit before the decimal point.
func (s *scanner) scientific(digits []byte, exponent int) {
	s.out = append(s.out, digits[0])
	if len(digits) > 1 {
		s.out = append(s.out, '.')
		s.out = append(s.out, digits[1:]...)
	}
	s.out = append(s.out, 'e')
	if exponent > 0 {
		s.out = append(s.out, '+')
	}
	s.out = strconv.AppendInt(s.out, int64(exponent), 10)
}

func (s *scanner) zeros(n int) {
	for range n {
		s.out = append(s.out, '0')
	}
}
