// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Result writes the rows of one statement as JSON:
//
//	{"columns": ["id"], "rows": [{"id": 1}], "row_count": 1, "truncated": false}
//
// and after these, only where there is something to say: "truncated_by" ("rows"
// or "bytes"), "columns_meta" (for each column its "name" as the database gave
// it and the "encoding" of its values, "string" or "base64"), "warnings".
//
// Values are never rounded, guessed at or dropped:
//
//   - NULL is null.
//   - An integer is a number. If any integer of a column is beyond ±(2^53-1),
//     which many JSON readers would round, all numbers of the column are strings
//     (encoding "string").
//   - A float is the shortest number that reads back as the same float; NaN,
//     Infinity and -Infinity are strings.
//   - Text is a string. Text that is not UTF-8 is {"$base64": "..."}.
//   - Bytes are base64 (encoding "base64"), or {"$base64": "..."} where a column
//     has both text and bytes.
//   - JSON is embedded as it stands, byte for byte.
//   - A value longer than Limits.MaxCellBytes is {"$truncated": true, "bytes": n,
//     "head": "..."}, or "head_base64" for bytes.
//
// [Result.As] makes lists of the rows, or one text of them in place of "rows":
// "csv", lines of RFC 4180 without a header. There NULL is nothing, an empty text
// is "", and an object stands as its JSON.
//
// For each row: StartRow, one value for each column, EndRow; then Finish. A
// Result comes from [NewResult] and is of no use after Finish.
type Result struct {
	header  *Header
	shape   RowsAs
	limits  Limits
	maxRows int

	buf    []byte
	states []columnState
	cells  []cell // what Finish may have to rewrite
	growth int    // bytes that rewriting may add
	rows   int
	col    int

	full    bool // a row did not fit
	invalid bool // text was not UTF-8

	mark struct{ buf, cells, growth int } // where the current row started
}

type columnState uint8

const (
	hasBigInt columnState = 1 << iota
	hasText
	hasBytes
)

// cell is where in the buffer a value stands that may have to be rewritten.
type cell struct {
	at, length int32
	col        int16
	bytes      bool
}

// What rewriting adds to a number and to bytes.
const (
	growNumber = len(`""`)
	growBytes  = len(`{"$base64":}`)
	growField  = len(fieldBytes) + len(fieldEnd)
)

// maxSafe is the largest integer up to which every JSON reader is exact.
const maxSafe = 1<<53 - 1

var results sync.Pool

// NewResult starts a result of at most maxRows rows. size is a guess at how
// large it will be, in bytes.
func NewResult(h *Header, l Limits, maxRows, size int) *Result {
	r, _ := results.Get().(*Result)
	if r == nil {
		r = new(Result)
	}
	n := len(h.columns)
	*r = Result{
		header: h, limits: l, maxRows: maxRows,
		buf:    append(make([]byte, 0, max(size+size/8, len(h.head)+h.reserve)), h.head...),
		states: slices.Grow(r.states[:0], n)[:n],
		cells:  r.cells[:0],
	}
	clear(r.states)
	return r
}

// As sets the shape of the rows, before the first.
func (r *Result) As(shape RowsAs) *Result {
	r.shape = shape
	if shape == RowsAsCSV {
		r.buf = append(r.buf[:len(r.buf)-len(headRows)], headCSV...)
	}
	return r
}

// Full says that no more rows are taken.
func (r *Result) Full() bool { return r.full || r.rows >= r.maxRows }

// StartRow begins a row.
func (r *Result) StartRow() {
	r.mark.buf, r.mark.cells, r.mark.growth = len(r.buf), len(r.cells), r.growth
	r.col = 0
	if r.shape == RowsAsCSV {
		return
	}
	if r.rows > 0 {
		r.buf = append(r.buf, ',')
	}
	if r.shape == RowsAsArrays {
		r.buf = append(r.buf, '[')
		return
	}
	r.buf = append(r.buf, '{')
}

// EndRow ends a row; false says that it did not fit and was taken back.
func (r *Result) EndRow() bool {
	switch r.shape {
	case RowsAsCSV:
		r.buf = append(r.buf, `\n`...)
	case RowsAsArrays:
		r.buf = append(r.buf, ']')
	default:
		r.buf = append(r.buf, '}')
	}
	if len(r.buf)+r.growth+r.header.reserve > r.limits.MaxBytes {
		r.buf, r.cells, r.growth = r.buf[:r.mark.buf], r.cells[:r.mark.cells], r.mark.growth
		r.full = true
		return false
	}
	r.rows++
	return true
}

// key begins a value; false says that the row is too large already, so that
// writing more of it would only cost memory until EndRow takes it back.
func (r *Result) key() bool {
	r.col++
	if len(r.buf) > r.limits.MaxBytes {
		return false
	}
	if r.col > 1 {
		r.buf = append(r.buf, ',')
	}
	if r.shape != RowsAsArrays && r.shape != RowsAsCSV {
		r.buf = append(r.buf, r.header.columns[r.col-1].key...)
	}
	return true
}

// remember notes the value that was written since start.
func (r *Result) remember(start, growth int, isBytes bool) {
	r.cells = append(r.cells, cell{
		at: int32(start), length: int32(len(r.buf) - start), //nolint:gosec // MaxBytes bounds both
		col: int16(r.col - 1), bytes: isBytes, //nolint:gosec // databases have a few thousand columns at most
	})
	r.growth += growth
}

// Null writes NULL.
func (r *Result) Null() {
	if r.key() && r.shape != RowsAsCSV {
		r.buf = append(r.buf, "null"...)
	}
}

// Int writes an integer.
func (r *Result) Int(v int64) {
	if !r.key() {
		return
	}
	if (v > maxSafe || v < -maxSafe) && r.shape != RowsAsCSV {
		r.states[r.col-1] |= hasBigInt
	}
	start := len(r.buf)
	r.buf = strconv.AppendInt(r.buf, v, 10)
	r.remember(start, growNumber, false)
}

// Float writes a float.
func (r *Result) Float(v float64) {
	if !r.key() {
		return
	}
	switch {
	case math.IsNaN(v):
		r.word("NaN")
	case math.IsInf(v, 1):
		r.word("Infinity")
	case math.IsInf(v, -1):
		r.word("-Infinity")
	default:
		start := len(r.buf)
		r.buf = appendFloat(r.buf, v)
		r.remember(start, growNumber, false)
	}
}

// Text writes text. v is not kept.
func (r *Result) Text(v []byte) {
	if !r.key() {
		return
	}
	r.states[r.col-1] |= hasText
	if len(v) > r.limits.MaxCellBytes {
		r.truncated(v, true)
		return
	}
	if !utf8.Valid(v) {
		r.invalid = true
		r.base64Object(v)
		return
	}
	if r.shape == RowsAsCSV {
		r.buf = appendField(r.buf, v)
		return
	}
	r.buf = appendString(r.buf, v)
}

// word writes what a number may be without being one.
func (r *Result) word(s string) {
	if r.shape == RowsAsCSV {
		r.buf = append(r.buf, s...)
		return
	}
	r.buf = appendString(r.buf, s)
}

// Bytes writes bytes. v is not kept.
func (r *Result) Bytes(v []byte) {
	if !r.key() {
		return
	}
	r.states[r.col-1] |= hasBytes
	if len(v) > r.limits.MaxCellBytes {
		r.truncated(v, false)
		return
	}
	start := len(r.buf)
	if r.shape == RowsAsCSV {
		r.buf = base64.StdEncoding.AppendEncode(r.buf, v)
		r.remember(start, growField, true)
		return
	}
	r.base64String(v)
	r.remember(start, growBytes, true)
}

// JSON writes a value that is JSON already, as it stands: a number in it keeps
// every digit, and an object every key, even one that it has twice. What is no
// JSON is written as text. v is not kept.
func (r *Result) JSON(v []byte) {
	if len(v) > r.limits.MaxCellBytes || !utf8.Valid(v) || !json.Valid(v) {
		r.Text(v)
		return
	}
	if r.key() {
		r.buf = append(r.buf, v...)
	}
}

// truncated writes the head of a value that is too long.
func (r *Result) truncated(v []byte, isText bool) {
	defer r.field(len(r.buf))
	head := v[:r.limits.MaxCellBytes]
	if isText {
		head = wholeRunes(head)
	}
	r.buf = append(r.buf, `{"$truncated":true,"bytes":`...)
	r.buf = strconv.AppendInt(r.buf, int64(len(v)), 10)
	if isText && utf8.Valid(head) {
		r.buf = append(r.buf, `,"head":`...)
		r.buf = appendString(r.buf, head)
	} else {
		r.buf = append(r.buf, `,"head_base64":`...)
		r.base64String(head)
	}
	r.buf = append(r.buf, '}')
}

func (r *Result) base64Object(v []byte) {
	defer r.field(len(r.buf))
	r.buf = append(r.buf, `{"$base64":`...)
	r.base64String(v)
	r.buf = append(r.buf, '}')
}

func (r *Result) base64String(v []byte) {
	r.buf = append(r.buf, '"')
	r.buf = base64.StdEncoding.AppendEncode(r.buf, v)
	r.buf = append(r.buf, '"')
}

// Finish writes what follows the rows and returns the whole. more says that
// the statement had more rows than were asked for.
func (r *Result) Finish(more bool) json.RawMessage {
	r.rewrite()
	b := r.buf
	if r.shape == RowsAsCSV {
		b = append(b, `","row_count":`...)
	} else {
		b = append(b, `],"row_count":`...)
	}
	b = strconv.AppendInt(b, int64(r.rows), 10)
	switch {
	case r.full:
		b = append(b, `,"truncated":true,"truncated_by":"bytes"`...)
	case more:
		b = append(b, `,"truncated":true,"truncated_by":"rows"`...)
	default:
		b = append(b, `,"truncated":false`...)
	}
	b = r.appendMeta(b)
	b = r.appendWarnings(b)
	b = append(b, '}')
	r.buf, r.header = nil, nil
	results.Put(r)
	return b
}

// rewrite makes strings of the numbers of columns with a large integer, and
// objects of the bytes of columns that also have text. It is rare, so rows are
// written as if it never happened.
func (r *Result) rewrite() {
	const mixed = hasText | hasBytes
	if !slices.ContainsFunc(r.states, func(s columnState) bool { return s&hasBigInt != 0 || s&mixed == mixed }) {
		return
	}
	out := make([]byte, 0, len(r.buf)+r.growth+r.header.reserve)
	done := 0
	for _, c := range r.cells {
		state := r.states[c.col]
		end := int(c.at + c.length)
		switch {
		case !c.bytes && state&hasBigInt != 0:
			out = append(out, r.buf[done:c.at]...)
			out = append(out, '"')
			out = append(out, r.buf[c.at:end]...)
			out = append(out, '"')
			done = end
		case c.bytes && state&mixed == mixed:
			out = append(out, r.buf[done:c.at]...)
			before, after := `{"$base64":`, `}`
			if r.shape == RowsAsCSV {
				before, after = fieldBytes, fieldEnd
			}
			out = append(out, before...)
			out = append(out, r.buf[c.at:end]...)
			out = append(out, after...)
			done = end
		}
	}
	r.buf = append(out, r.buf[done:]...)
}

func (r *Result) appendMeta(b []byte) []byte {
	encoded := slices.ContainsFunc(r.states, func(s columnState) bool { return encoding(s) != "" })
	if !encoded && !r.header.renamed {
		return b
	}
	b = append(b, `,"columns_meta":[`...)
	for i, c := range r.header.columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = appendString(b, c.original)
		if e := encoding(r.states[i]); e != "" {
			b = append(b, `,"encoding":"`...)
			b = append(b, e...)
			b = append(b, '"')
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// encoding names how the values of a column were encoded, if it is not obvious.
func encoding(s columnState) string {
	switch {
	case s&hasBigInt != 0:
		return "string"
	case s&hasBytes != 0 && s&hasText == 0:
		return "base64"
	}
	return ""
}

func (r *Result) appendWarnings(b []byte) []byte {
	var warnings []string
	if r.invalid {
		warnings = append(warnings, `some text is not valid UTF-8 and is given as {"$base64": ...}`)
	}
	if r.full && r.rows == 0 {
		warnings = append(warnings, "the first row is larger than max_bytes ("+strconv.Itoa(r.limits.MaxBytes)+"); select fewer columns")
	}
	if warnings == nil {
		return b
	}
	b = append(b, `,"warnings":[`...)
	for i, w := range warnings {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, w)
	}
	return append(b, ']')
}
