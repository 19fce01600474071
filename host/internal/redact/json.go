// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// json redacts strings, names and numbers of a JSON text, one after the other.
func (m *matcher) json(raw []byte) []byte {
	if m == nil || len(raw) < m.least {
		return raw
	}
	if bytes.IndexByte(raw, '\\') < 0 && len(find(m, raw)) == 0 {
		return raw // nothing is escaped, so it says what it is
	}
	j := rewriting{matcher: m, raw: raw}
	for j.at < len(raw) {
		switch c := raw[j.at]; {
		case c == '"':
			j.text()
		case c == '-' || (c >= '0' && c <= '9'):
			j.number()
		default:
			j.at++
		}
	}
	if j.out == nil {
		return raw
	}
	return append(j.out, raw[j.kept:]...)
}

// rewriting is a JSON text on its way.
type rewriting struct {
	*matcher

	raw   []byte
	at    int    // read so far
	kept  int    // copied so far
	out   []byte // nil: nothing was changed
	names int    // changed

	scratch []byte
}

func (j *rewriting) replace(from int, with []byte) {
	if j.out == nil {
		j.out = make([]byte, 0, len(j.raw)+len(with))
	}
	j.out = append(append(j.out, j.raw[j.kept:from]...), with...)
	j.kept = j.at
}

// text redacts the string that begins here.
func (j *rewriting) text() {
	from := j.at
	j.at++
	escaped := false
	for j.at < len(j.raw) && j.raw[j.at] != '"' {
		if j.raw[j.at] == '\\' {
			escaped = true
			j.at++
		}
		j.at++
	}
	j.at = min(j.at+1, len(j.raw))
	token := j.raw[from:j.at]
	if !escaped && len(find(j.matcher, token)) == 0 {
		return
	}
	if escaped { // most say nothing secret, and are not to cost memory
		j.scratch = unescape(j.scratch[:0], token)
		if len(find(j.matcher, j.scratch)) == 0 {
			return
		}
	}
	var said string
	if json.Unmarshal(token, &said) != nil {
		// Not JSON. What is done to it cannot make it less so.
		if clean := j.bytes(token); len(find(j.matcher, token)) > 0 {
			j.replace(from, clean)
		}
		return
	}
	clean := j.matcher.text(said)
	if clean == said {
		return // what was found has a quote for its first or last byte
	}
	if j.isName() {
		if j.names++; j.names > 1 {
			clean += " " + strconv.Itoa(j.names)
		}
	}
	j.replace(from, quoted(strings.ToValidUTF8(clean, "\ufffd")))
}

// unescape appends what a JSON string says, quotes and all. Where the string is
// none, so is what it says.
func unescape(out, token []byte) []byte {
	for len(token) > 0 {
		i := bytes.IndexByte(token, '\\')
		if i < 0 || i+1 == len(token) {
			return append(out, token...)
		}
		out = append(out, token[:i]...)
		c := token[i+1]
		token = token[i+2:]
		switch at := strings.IndexByte("bfnrt", c); {
		case c == 'u':
			var r rune
			r, token = codePoint(token)
			out = utf8.AppendRune(out, r)
		case at >= 0:
			out = append(out, "\b\f\n\r\t"[at])
		default:
			out = append(out, c)
		}
	}
	return out
}

// codePoint reads the digits after \u, of a pair of surrogates both.
func codePoint(token []byte) (rune, []byte) {
	r, ok := hex(token)
	if !ok {
		return utf8.RuneError, token
	}
	token = token[4:]
	if !utf16.IsSurrogate(r) {
		return r, token
	}
	if len(token) > 2 && token[0] == '\\' && token[1] == 'u' {
		if low, ok := hex(token[2:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, token[6:]
			}
		}
	}
	return utf8.RuneError, token
}

func hex(digits []byte) (r rune, ok bool) {
	if len(digits) < 4 {
		return 0, false
	}
	for _, c := range digits[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// isName reports whether the string that was just read names a member.
func (j *rewriting) isName() bool {
	rest := bytes.TrimLeft(j.raw[j.at:min(j.at+64, len(j.raw))], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// number replaces the number that begins here if there is a secret in it.
func (j *rewriting) number() {
	from := j.at
	for j.at < len(j.raw) && strings.IndexByte("+-.0123456789Ee", j.raw[j.at]) >= 0 {
		j.at++
	}
	if len(find(j.matcher, j.raw[from:j.at])) > 0 {
		j.replace(from, quoted(Mark))
	}
}
