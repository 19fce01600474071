// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

var update = flag.Bool("update", false, "write the golden files anew")

var typed = []string{
	"SELECT 1::int2 AS a, -2::int4 AS b, 9007199254740991::int8 AS c, 4294967295::oid AS d",
	"SELECT v FROM (VALUES (1::int8), (NULL), (9223372036854775807), (-9223372036854775808)) AS t(v)",
	"SELECT 1.10::numeric AS n, 12345678901234567890.10::numeric AS n, 'NaN'::numeric AS n, 'Infinity'::numeric AS n, 12.5::money::numeric AS m",
	"SELECT 0.1::float4 AS f, 1::float4 AS f, 3.4028235e38::float4 AS f, 0.1::float8 AS f, 1e21::float8 AS f, 5e-324::float8 AS f, '-0'::float8 AS f",
	"SELECT 'NaN'::float8 AS f, 'Infinity'::float4 AS f, '-Infinity'::float8 AS f",
	"SELECT true AS b, false AS b, NULL::bool AS b",
	"SELECT '2026-01-02 03:04:05.123456+02'::timestamptz AS t, 'infinity'::timestamptz AS t, '0044-03-15 12:00:00+00 BC'::timestamptz AS t, '12345-01-01 00:00:00+00'::timestamptz AS t",
	"SELECT '2026-01-02 03:04:05.123456'::timestamp AS t, '2026-01-02'::timestamp AS t, '-infinity'::timestamp AS t",
	"SELECT '2026-01-02'::date AS d, '24:00:00'::time AS t, '10:00:00+02'::timetz AS tz, '1 year 2 days 03:04:05.6'::interval AS i",
	`SELECT '\x00ff'::bytea AS b, ''::bytea AS b, NULL::bytea AS b, B'101' AS bits`,
	`SELECT '{"a": 12345678901234567890.10, "a": 1}'::json AS j, '{"b": 1.10, "a": null}'::jsonb AS j, 'null'::jsonb AS j, NULL::jsonb AS j`,
	"SELECT '{1,2,NULL}'::int4[] AS a, '{{1,2},{3,4}}'::int8[] AS a, '{9007199254740993,1}'::int8[] AS a, '{}'::text[] AS a, '[0:1]={1,2}'::int4[] AS a",
	`SELECT '{a,"b \"c\" \\",NULL,"NULL",""}'::text[] AS a, '{{a},{b}}'::text[] AS a, '{1.10,NaN}'::numeric[] AS a, '{0.1,NaN}'::float8[] AS a, '{t,f}'::bool[] AS a`,
	`SELECT ARRAY['{"a": 1.10}'::jsonb] AS a, ARRAY['\x00ff'::bytea] AS a, ARRAY['2026-01-02 03:04:05+00'::timestamptz] AS a`,
	"SELECT '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid AS u, '10.0.0.1/8'::inet AS i, '[1,5)'::int4range AS r, ROW(1, 'a b') AS c, 'x'::\"char\" AS q",
	"SELECT 'ok'::mood AS enum, 'a=>1'::text AS h, '<a/>'::text AS x, 'a b'::tsvector AS v, '(1,2)'::point AS p",
	"SELECT '' AS t, 'ünïcödé 🚢' AS t, E'\\t\\r\\n\"\\\\\\x7f' AS t, '</script>' AS t, 'abc  '::char(5) AS c",
	"SELECT 1 AS id, 2 AS id, 3 AS id_2",
	"SELECT repeat('x', 33) AS longer_than_the_cell_limit, repeat('ü', 20) AS runes, decode(repeat('00', 40), 'hex') AS bytes, to_jsonb(repeat('x', 40)) AS j",
	"SELECT WHERE false",
	"SELECT 1 AS x WHERE false",
}

func TestValuesComeOutAsTheyAreStored(t *testing.T) {
	name := database(t, "CREATE TYPE mood AS ENUM ('ok')")
	limits := testLimits
	limits.MaxCellBytes = 32
	short := open(t, name, Options{Limits: limits})
	long := open(t, name, Options{})
	var b strings.Builder
	for _, sql := range typed {
		d := long
		if strings.Contains(sql, "longer_than") {
			d = short
		}
		raw, err := query(t, d, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if !json.Valid([]byte(raw)) {
			t.Errorf("%s: not JSON: %s", sql, raw)
		}
		fmt.Fprintf(&b, "%s\n%s\n\n", sql, raw)
	}
	golden(t, "testdata/types.golden", b.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update writes it anew); got:\n%s", path, got)
	}
}

// A database in SQL_ASCII holds whatever bytes it was given.
func TestTextThatIsNotUTF8IsNotRepaired(t *testing.T) {
	running(t)
	admin(t, "postgres", "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	d := open(t, "ascii", Options{})
	raw, err := query(t, d, `SELECT convert_from('\xff41'::bytea, 'SQL_ASCII') AS t`)
	if err != nil || !strings.Contains(raw, `{"$base64":"/0E="}`) {
		t.Errorf("%s %v", raw, err)
	}
}

func TestParametersTakeTheTypesThatTheServerInfers(t *testing.T) {
	d := open(t, database(t, ""), Options{Tables: []string{"*"}})
	text := func(s string) engine.Param { return engine.Param{Kind: engine.ParamText, Text: s} }
	for _, c := range []struct {
		sql    string
		params []engine.Param
		want   string
	}{
		{"SELECT id FROM orders WHERE id = $1", []engine.Param{{Kind: engine.ParamInt, Int: 3}}, `[{"id":3}]`},
		{"SELECT $1::numeric AS n", []engine.Param{text("12345678901234567890.10")}, `[{"n":"12345678901234567890.10"}]`},
		{"SELECT $2 AS a, $1::bool AS b", []engine.Param{{Kind: engine.ParamBool, Bool: true}, {Kind: engine.ParamNull}}, `[{"a":null,"b":true}]`},
		{"SELECT $1 AS a", []engine.Param{text("'; DROP TABLE orders; --")}, `[{"a":"'; DROP TABLE orders; --"}]`},
		{"SELECT $1::float8 AS a", []engine.Param{{Kind: engine.ParamFloat, Float: 1e-300}}, `[{"a":1e-300}]`},
	} {
		if raw, err := query(t, d, c.sql, c.params...); err != nil || !strings.Contains(raw, `"rows":`+c.want) {
			t.Errorf("%s: %s %v", c.sql, raw, err)
		}
	}
	if _, err := query(t, d, "SELECT $1", text("a\x00b")); code(err) != engine.CodeBindValue {
		t.Error(err)
	}
	if _, err := query(t, d, "SELECT $1"); code(err) != engine.CodeBindCount {
		t.Error(err)
	}
	if _, err := query(t, d, "SELECT $1::int", text("x")); code(err) != engine.CodeDBError || !strings.Contains(err.Error(), "22P02") {
		t.Error(err)
	}
}

func FuzzArrays(f *testing.F) {
	for _, s := range []string{`{1,2}`, `{{a},{b}}`, `{"a\"b",NULL,""}`, `[0:1]={1,2}`, `{`, `{"\`, `{a`, `{,}`, `{{{{{{{}}}}}}}`} {
		f.Add([]byte(s), uint32(pgtype.TextOID))
		f.Add([]byte(s), uint32(pgtype.Int8OID))
		f.Add([]byte(s), uint32(pgtype.JSONBOID))
	}
	f.Fuzz(func(t *testing.T, v []byte, element uint32) {
		r := engine.NewResult(engine.NewHeader([]string{"v"}), testLimits, 1, 0)
		r.StartRow()
		writeArray(r, v, element)
		r.EndRow()
		if got := r.Finish(false); !json.Valid(got) || !utf8.Valid(got) {
			t.Errorf("%q: %s", v, got)
		}
	})
}
