// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// writeArray writes {1,2,{3}} as nested arrays of JSON. An array whose bounds do
// not begin at 1 keeps the server's text, which says so.
func writeArray(r *engine.Result, v []byte, element uint32) {
	if v == nil {
		r.Null()
		return
	}
	a := arrayText{text: v, element: element}
	if !utf8.Valid(v) || !a.array(0) || a.at != len(v) {
		r.Text(v)
		return
	}
	if a.large {
		// As with columns: all numbers of the array are strings, or none.
		a = arrayText{text: v, element: element, quoteInts: true}
		a.array(0)
	}
	r.JSON(a.out)
}

// maxDimensions is PostgreSQL's MAXDIM.
const maxDimensions = 6

// arrayText reads the text form of an array (PostgreSQL, 8.15.6).
type arrayText struct {
	text      []byte
	element   uint32
	at        int
	out       []byte
	large     bool // an integer is beyond what JSON readers keep
	quoteInts bool
}

// array reads one pair of braces.
func (a *arrayText) array(depth int) bool {
	if depth >= maxDimensions || !a.take('{') {
		return false
	}
	a.out = append(a.out, '[')
	for first := true; !a.take('}'); first = false {
		if !first {
			if !a.take(',') {
				return false
			}
			a.out = append(a.out, ',')
		}
		if !a.item(depth) {
			return false
		}
	}
	a.out = append(a.out, ']')
	return true
}

func (a *arrayText) take(c byte) bool {
	if a.at < len(a.text) && a.text[a.at] == c {
		a.at++
		return true
	}
	return false
}

// item reads a nested array or one element.
func (a *arrayText) item(depth int) bool {
	if a.at >= len(a.text) {
		return false
	}
	switch a.text[a.at] {
	case '{':
		return a.array(depth + 1)
	case '"':
		v, ok := a.quoted()
		if ok {
			a.value(v)
		}
		return ok
	}
	end := bytes.IndexAny(a.text[a.at:], `,{}"\`)
	if end <= 0 || a.text[a.at+end] != ',' && a.text[a.at+end] != '}' {
		return false
	}
	v := a.text[a.at : a.at+end]
	a.at += end
	if string(v) == "NULL" {
		a.out = append(a.out, "null"...)
		return true
	}
	a.value(v)
	return true
}

// quoted reads an element in double quotes.
func (a *arrayText) quoted() ([]byte, bool) {
	var v []byte
	for i := a.at + 1; i < len(a.text); i++ {
		switch a.text[i] {
		case '"':
			a.at = i + 1
			return v, true
		case '\\':
			i++
			if i == len(a.text) {
				return nil, false
			}
		}
		v = append(v, a.text[i])
	}
	return nil, false
}

// value writes one element by its type.
func (a *arrayText) value(v []byte) {
	switch a.element {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		a.integer(v)
		return
	case pgtype.Float4OID, pgtype.Float8OID:
		f, err := strconv.ParseFloat(string(v), 64)
		if err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			a.out = engine.AppendFloat(a.out, f)
			return
		}
	case pgtype.BoolOID:
		if len(v) == 1 && (v[0] == 't' || v[0] == 'f') {
			a.out = strconv.AppendBool(a.out, v[0] == 't')
			return
		}
	case pgtype.JSONOID, pgtype.JSONBOID:
		if json.Valid(v) {
			a.out = append(a.out, v...)
			return
		}
	case pgtype.ByteaOID:
		if b, ok := unhex(bytes.Clone(v)); ok {
			v = base64.StdEncoding.AppendEncode(nil, b)
		}
	case pgtype.TimestampOID:
		v = isoTime(bytes.Clone(v), false)
	case pgtype.TimestamptzOID:
		v = isoTime(bytes.Clone(v), true)
	}
	a.out = engine.AppendString(a.out, v)
}

func (a *arrayText) integer(v []byte) {
	const safe = 1<<53 - 1
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || a.quoteInts {
		a.out = engine.AppendString(a.out, v)
		return
	}
	a.large = a.large || n > safe || n < -safe
	a.out = strconv.AppendInt(a.out, n, 10)
}
