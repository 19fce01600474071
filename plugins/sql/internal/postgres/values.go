// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"encoding/hex"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// column writes the text form of one value; nil is NULL. All that has no entry
// here is given as the server writes it: numeric with its scale, uuid, inet,
// ranges, enums, composites, times.
type column func(r *engine.Result, v []byte)

// columnOf is how values of a type are written.
func columnOf(oid uint32) column {
	if element, ok := arrays[oid]; ok {
		return func(r *engine.Result, v []byte) { writeArray(r, v, element) }
	}
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		return writeInt
	case pgtype.Float4OID, pgtype.Float8OID:
		return writeFloat
	case pgtype.BoolOID:
		return writeBool
	case pgtype.ByteaOID:
		return writeBytes
	case pgtype.JSONOID, pgtype.JSONBOID:
		return writeJSON
	case pgtype.TimestampOID:
		return writeTimestamp
	case pgtype.TimestamptzOID:
		return writeTimestamptz
	}
	return writeText
}

// arrays has, for each type of array whose elements are not mere text, the type
// of its elements.
var arrays = map[uint32]uint32{
	pgtype.BoolArrayOID: pgtype.BoolOID, pgtype.Int2ArrayOID: pgtype.Int2OID, pgtype.Int4ArrayOID: pgtype.Int4OID,
	pgtype.Int8ArrayOID: pgtype.Int8OID, pgtype.OIDArrayOID: pgtype.OIDOID, pgtype.Float4ArrayOID: pgtype.Float4OID,
	pgtype.Float8ArrayOID: pgtype.Float8OID, pgtype.NumericArrayOID: pgtype.NumericOID, pgtype.TextArrayOID: pgtype.TextOID,
	pgtype.VarcharArrayOID: pgtype.VarcharOID, pgtype.BPCharArrayOID: pgtype.BPCharOID, pgtype.NameArrayOID: pgtype.NameOID,
	pgtype.UUIDArrayOID: pgtype.UUIDOID, pgtype.DateArrayOID: pgtype.DateOID, pgtype.TimestampArrayOID: pgtype.TimestampOID,
	pgtype.TimestamptzArrayOID: pgtype.TimestamptzOID, pgtype.JSONArrayOID: pgtype.JSONOID, pgtype.JSONBArrayOID: pgtype.JSONBOID,
	pgtype.ByteaArrayOID: pgtype.ByteaOID, pgtype.InetArrayOID: pgtype.InetOID, pgtype.IntervalArrayOID: pgtype.IntervalOID,
}

func writeText(r *engine.Result, v []byte) {
	if v == nil {
		r.Null()
		return
	}
	r.Text(v)
}

func writeInt(r *engine.Result, v []byte) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil { // NULL, or no integer after all
		writeText(r, v)
		return
	}
	r.Int(n)
}

// writeFloat reads the server's text, which is the shortest for the width of the
// type: a float4 stays as short as it is stored.
func writeFloat(r *engine.Result, v []byte) {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		writeText(r, v)
		return
	}
	r.Float(f)
}

func writeBool(r *engine.Result, v []byte) {
	switch string(v) {
	case "t":
		r.JSON([]byte("true"))
	case "f":
		r.JSON([]byte("false"))
	default:
		writeText(r, v)
	}
}

func writeBytes(r *engine.Result, v []byte) {
	if b, ok := unhex(v); ok {
		r.Bytes(b)
		return
	}
	writeText(r, v)
}

// unhex reads the text form of bytea in place.
func unhex(v []byte) ([]byte, bool) {
	if len(v) < 2 || v[0] != '\\' || v[1] != 'x' {
		return nil, false
	}
	n, err := hex.Decode(v[2:], v[2:])
	return v[2 : 2+n], err == nil
}

func writeJSON(r *engine.Result, v []byte) {
	if v == nil {
		r.Null()
		return
	}
	r.JSON(v)
}

// writeTimestamp puts the T of ISO 8601 in; what has another form, such as
// infinity or a year before Christ, stays as it is.
func writeTimestamp(r *engine.Result, v []byte) { writeText(r, isoTime(v, false)) }

func writeTimestamptz(r *engine.Result, v []byte) { writeText(r, isoTime(v, true)) }

// isoTime changes 2026-01-02 03:04:05+00 in place.
func isoTime(v []byte, zone bool) []byte {
	const utc, date = "+00", len("2026-01-02")
	text := string(v)
	if len(v) < date+len(" 00:00:00") || v[date] != ' ' || v[len(v)-1] == 'C' {
		return v
	}
	if zone {
		if text[len(text)-len(utc):] != utc {
			return v
		}
		v = append(v[:len(v)-len(utc)], 'Z')
	}
	v[date] = 'T'
	return v
}
