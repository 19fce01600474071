// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// filePrefix marks a reference to a file.
const filePrefix = "file:"

// Ref is one reference. Exactly one field is set.
type Ref struct {
	Env  string // name of a variable
	File string // path of a file
}

// String is the reference as it is written.
func (r Ref) String() string {
	if r.File != "" {
		return "${" + filePrefix + r.File + "}"
	}
	return "${" + r.Env + "}"
}

// SyntaxError is a reference that cannot be read. It names a place and never
// the text there: what looks like a broken reference may be a piece of a
// password.
type SyntaxError struct {
	Pointer string // RFC 6901, within the tree; empty for a single string
	Column  int    // of the reference's $, in characters from 1
	Reason  string
}

func (e *SyntaxError) Error() string {
	at := ""
	if e.Pointer != "" {
		at = e.Pointer + ": "
	}
	return fmt.Sprintf("%scharacter %d: %s", at, e.Column, e.Reason)
}

// Refs lists the references of s in order, repeated ones too.
func Refs(s string) ([]Ref, error) {
	pieces, err := split(s)
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for _, p := range pieces {
		if p.ref != (Ref{}) {
			refs = append(refs, p.ref)
		}
	}
	return refs, nil
}

// piece is literal text or, when ref is set, a reference.
type piece struct {
	text string
	ref  Ref
}

// split cuts s into literal text and references.
func split(s string) ([]piece, error) {
	var pieces []piece
	literal := func(t string) {
		if t != "" {
			pieces = append(pieces, piece{text: t})
		}
	}
	rest := s
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			literal(rest)
			return pieces, nil
		}
		if i > 0 && rest[i-1] == '$' {
			literal(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		literal(rest[:i])
		at := len(s) - len(rest) + i
		body, tail, closed := strings.Cut(rest[i+2:], "}")
		if !closed {
			return nil, syntaxError(s, at, "a reference is not closed: write ${NAME}, ${file:/path}, or $${ for a literal ${")
		}
		ref, reason := parse(body)
		if reason != "" {
			return nil, syntaxError(s, at, reason)
		}
		pieces = append(pieces, piece{ref: ref})
		rest = tail
	}
}

// parse reads what stands between the braces; reason says why it cannot.
func parse(body string) (ref Ref, reason string) {
	if path, ok := strings.CutPrefix(body, filePrefix); ok {
		switch {
		case path == "":
			return Ref{}, "a file reference has no path: write ${file:/path}"
		case strings.ContainsAny(path, "\x00\r\n"):
			return Ref{}, "a file reference has a line break or NUL in its path"
		case strings.Contains(path, "${"):
			return Ref{}, "a reference stands inside a reference"
		}
		return Ref{File: path}, ""
	}
	if !isName(body) {
		return Ref{}, "a reference needs a name of letters, digits and _ that starts with no digit: write ${NAME}, ${file:/path}, or $${ for a literal ${"
	}
	return Ref{Env: body}, ""
}

// isName reports whether s can name a variable (POSIX 2024, 8.1, and lower
// case).
func isName(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case c == '_', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

func syntaxError(s string, offset int, reason string) *SyntaxError {
	return &SyntaxError{Column: utf8.RuneCountInString(s[:offset]) + 1, Reason: reason}
}

// Escape is the text whose expansion is s itself.
func Escape(s string) string { return strings.ReplaceAll(s, "${", "$${") }
