// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"fmt"
)

// Bounds of JSON at the door. Inside them every reader of the same bytes sees
// the same value, which is what an approval of those bytes depends on.
const (
	// MaxDepth is how deep arrays and objects may nest.
	MaxDepth = 64
	// MaxExponent is the largest exponent, either sign, that a number may be
	// written with.
	MaxExponent = 400
	// MaxNumber is the longest number, in bytes.
	MaxNumber = 1024
)

// JSON is one JSON value that came from outside: unique keys, valid UTF-8, no
// lone surrogates, bounded depth and numbers. It keeps the bytes as they came;
// the canonical form is for comparing only. It is immutable; the zero JSON is
// no value.
type JSON struct {
	raw, canonical []byte
	digest         Digest
}

// SyntaxError is JSON that is refused at the door.
type SyntaxError struct {
	// Offset in bytes from the start.
	Offset int
	Reason string
}

// Error returns the reason and where.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at offset %d", e.Reason, e.Offset) }

// ParseJSON reads one value. It keeps raw, which must not be changed
// afterwards. An error is a *SyntaxError.
func ParseJSON(raw []byte) (JSON, error) {
	s := scanner{in: raw, out: make([]byte, 0, len(raw))}
	if err := s.document(); err != nil {
		return JSON{}, err
	}
	return JSON{raw: raw, canonical: s.out, digest: DigestOf(s.out)}, nil
}

// ParseArgs reads the arguments of a call: one object; nothing at all stands
// for the empty one. An error is an *Error of kind ArgsInvalid.
func ParseArgs(raw []byte) (JSON, error) {
	if len(bytes.Trim(raw, " \t\r\n")) == 0 {
		raw = []byte("{}")
	}
	j, err := ParseJSON(raw)
	if err != nil {
		return JSON{}, &Error{Kind: ArgsInvalid, Code: "invalid_args", Text: "arguments: " + err.Error()}
	}
	if j.canonical[0] != '{' {
		return JSON{}, Errorf(ArgsInvalid, "invalid_args", "arguments must be an object")
	}
	return j, nil
}

// Bytes returns the value as it came; not to be changed.
func (j JSON) Bytes() []byte { return j.raw }

// Canonical returns the form in which two spellings of one value are equal:
// RFC 8785 for structure and strings; numbers are exact normalised decimals,
// where RFC 8785 would turn 9007199254740993 into 9007199254740992.
func (j JSON) Canonical() []byte { return j.canonical }

// Digest is the hash of the canonical form.
func (j JSON) Digest() Digest { return j.digest }

// IsZero reports whether there is no value.
func (j JSON) IsZero() bool { return j.raw == nil }
