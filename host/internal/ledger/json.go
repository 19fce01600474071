// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// timeFormat is RFC 3339 in UTC with microseconds, which is what stores keep.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// JSON returns the row as one JSON object on one line, without a newline. It
// has every column of the ledger under its name and in one order; what a row
// does not have is null. Times are RFC 3339 in UTC with microseconds, digests
// "sha256:" and hex, the cost is a string, so that no digit is lost. It can be
// shown as it is: characters that a terminal may act upon or not show are
// escaped, bytes that are not UTF-8 are U+FFFD.
func JSON(row Row) []byte {
	o := object{buf: make([]byte, 0, 1024)}
	writeColumns(&o, &row)
	return append(o.buf, '}')
}

// object writes a JSON object. Broken are the texts that are not UTF-8, which
// it cannot show.
type object struct {
	buf    []byte
	broken []pair
}

type pair struct{ name, value string }

func (o *object) key(name string) {
	sep := byte(',')
	switch n := len(o.buf); {
	case n == 0:
		sep = '{'
	case o.buf[n-1] == '{': // of an object inside: see open
		o.buf = o.buf[:n-1]
		sep = '{'
	}
	o.buf = append(o.buf, sep, '"')
	o.buf = append(o.buf, name...)
	o.buf = append(o.buf, '"', ':')
}

func (o *object) null() { o.buf = append(o.buf, "null"...) }

func (o *object) number(name string, n int64) {
	o.key(name)
	o.buf = strconv.AppendInt(o.buf, n, 10)
}

func (o *object) flag(name string, set bool) {
	o.key(name)
	o.buf = strconv.AppendBool(o.buf, set)
}

func (o *object) text(name, s string) {
	o.key(name)
	if s == "" {
		o.null()
		return
	}
	if !utf8.ValidString(s) {
		o.broken = append(o.broken, pair{name, s})
	}
	o.value(s)
}

func (o *object) value(s string) {
	o.buf = append(o.buf, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == utf8.RuneError && n == 1:
			o.buf = append(o.buf, `\ufffd`...)
		case r == '"' || r == '\\':
			o.buf = append(o.buf, '\\', byte(r))
		case strconv.IsPrint(r):
			o.buf = utf8.AppendRune(o.buf, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			o.escape(hi)
			o.escape(lo)
		default:
			o.escape(r)
		}
	}
	o.buf = append(o.buf, '"')
}

// escape writes a UTF-16 code unit.
func (o *object) escape(unit rune) {
	const hex = "0123456789abcdef"
	o.buf = append(o.buf, '\\', 'u', hex[unit>>12&15], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
}

func (o *object) time(name string, t time.Time) {
	o.key(name)
	if t.IsZero() {
		o.null()
		return
	}
	o.buf = append(o.buf, '"')
	o.buf = t.UTC().AppendFormat(o.buf, timeFormat)
	o.buf = append(o.buf, '"')
}

func (o *object) digest(name string, d tool.Digest) {
	if d.IsZero() {
		o.text(name, "")
		return
	}
	o.text(name, d.String())
}
