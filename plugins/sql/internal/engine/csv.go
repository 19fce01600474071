// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "bytes"

// What stands between the columns and the rows.
const (
	headRows = `],"rows":[`
	headCSV  = `],"csv":"`
)

// {"$base64":"..."} as a field of CSV within a string of JSON.
const (
	fieldBytes = `\"{\"\"$base64\"\":\"\"`
	fieldEnd   = `\"\"}\"`
)

// field makes a field of CSV of the JSON that was written since start.
func (r *Result) field(start int) {
	if r.shape == RowsAsCSV {
		object := bytes.Clone(r.buf[start:])
		r.buf = appendField(r.buf[:start], object)
	}
}

// appendField appends v, which is valid UTF-8, as a field of CSV (RFC 4180, 2.5 to
// 2.7), within a string of JSON.
func appendField(b, v []byte) []byte {
	quoted := len(v) == 0 || bytes.ContainsAny(v, ",\"\r\n") || v[0] == ' ' || v[len(v)-1] == ' '
	if quoted {
		v = bytes.ReplaceAll(v, []byte{'"'}, []byte{'"', '"'})
		b = append(b, '\\', '"')
	}
	start := len(b)
	b = appendString(b, v)
	// The string's own quotes are taken off.
	b = append(b[:start], b[start+1:len(b)-1]...)
	if quoted {
		b = append(b, '\\', '"')
	}
	return b
}
