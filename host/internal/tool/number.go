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
	s.decimal(negative, whole, fraction, exponent)
	return nil
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
func (s *scanner) decimal(negative bool, whole, fraction []byte, exponent int) {
	const plain = 21 // ECMAScript writes larger ones with an exponent
	digits := make([]byte, 0, 64)
	digits = append(append(digits, whole...), fraction...)
	point := len(whole) + exponent
	leading := len(digits) - len(bytes.TrimLeft(digits, "0"))
	digits = bytes.TrimRight(digits[leading:], "0")
	point -= leading
	if len(digits) == 0 { // also -0: JSON readers take it for 0
		s.out = append(s.out, '0')
		return
	}
	if negative {
		s.out = append(s.out, '-')
	}
	switch n := len(digits); {
	case n <= point && point <= plain:
		s.out = append(s.out, digits...)
		s.zeros(point - n)
	case 0 < point && point <= plain:
		s.out = append(s.out, digits[:point]...)
		s.out = append(s.out, '.')
		s.out = append(s.out, digits[point:]...)
	case -6 < point && point <= 0:
		s.out = append(s.out, '0', '.')
		s.zeros(-point)
		s.out = append(s.out, digits...)
	default:
		s.out = append(s.out, digits[0])
		if n > 1 {
			s.out = append(s.out, '.')
			s.out = append(s.out, digits[1:]...)
		}
		s.out = append(s.out, 'e')
		if point > 0 {
			s.out = append(s.out, '+')
		}
		s.out = strconv.AppendInt(s.out, int64(point-1), 10)
	}
}

func (s *scanner) zeros(n int) {
	for range n {
		s.out = append(s.out, '0')
	}
}
