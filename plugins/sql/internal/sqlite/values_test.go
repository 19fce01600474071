// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

var update = flag.Bool("update", false, "write the golden files anew")

// typed are statements whose answers show how each kind of value comes out.
var typed = []string{
	"SELECT 0 AS i, 1 AS i, -1 AS i, 9007199254740991 AS i, -9007199254740991 AS i",
	"SELECT 9007199254740992 AS i, 1.5 AS f, 'x' AS t, NULL AS n",
	"SELECT column1 AS i FROM (VALUES (1), (NULL), (9223372036854775807), (-9223372036854775808), (2.5), ('text'), (9e999))",
	"SELECT 0.1 AS f, 1.0 AS f, 1e21 AS f, 1e20 AS f, 1e-7 AS f, 1e-6 AS f, 123456789.123456789 AS f, 5e-324 AS f, 1.7976931348623157e308 AS f",
	"SELECT 9e999 AS f, -9e999 AS f, 9e999 - 9e999 AS f",
	"SELECT * FROM stored",
	"SELECT '' AS t, ' ' AS t, 'ünïcödé 🚢' AS t, char(9, 10, 13, 0, 34, 92, 127, 8232) AS t, '</script>' AS t",
	"SELECT CAST(x'ff00' AS TEXT) AS t, CAST(x'eda080' AS TEXT) AS t, CAST(x'41c3' AS TEXT) AS t",
	"SELECT x'' AS b, x'00ff' AS b, x'414243' AS b",
	"SELECT column1 AS mixed FROM (VALUES (x'00ff'), ('text'), (NULL), (7))",
	"SELECT 1 AS id, 2 AS id, 3 AS id_2, 4 AS ID, 5 AS id",
	"SELECT 1, 1, 'a' || 'b'",
	"SELECT hex(zeroblob(20)) AS longer_than_the_cell_limit, zeroblob(33) AS bytes, 'a' || replace(hex(zeroblob(20)), '00', 'ü') AS runes",
	"SELECT CAST(zeroblob(30) || x'ff' || zeroblob(30) AS TEXT) AS broken, CAST(x'c3' || zeroblob(40) AS TEXT) AS broken_early",
	"SELECT true AS yes, false AS no, date('2026-01-02') AS d, json('{\"a\": 1.10}') AS j, jsonb('[1]') IS NULL AS jb",
	"SELECT 1 AS x WHERE 0",
}

const typedSchema = `
CREATE TABLE stored(
	i INTEGER, r REAL, n NUMERIC, d DECIMAL(10,2), t TEXT, b BLOB, any_ ANY, v VARCHAR(10), dt DATETIME, bo BOOLEAN
);
INSERT INTO stored VALUES
	(1, 1, '1.10', '1.10', '1.10', '1.10', '1.10', '1.10', '2026-01-02 03:04:05', 1),
	('1.0', '1.0', '1.0', '12345678901234567890.10', 12345678901234567890, x'01', 1.0, 007, 1767323045, 'true'),
	('abc', 'abc', 'abc', 'abc', 0.1, 'abc', NULL, 0, NULL, ''),
	(NULL, -0.0, 1e400, '0.10', '007', 0.1, x'', '', '0000-00-00', 0);
`

func TestValuesComeOutAsTheyAreStored(t *testing.T) {
	limits := testLimits
	limits.MaxCellBytes = 32
	d := open(t, newFile(t, typedSchema), limits, "stored")
	var b strings.Builder
	for _, sql := range typed {
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

// What goes in by a parameter comes out again, digit for digit.
func TestNoDigitIsLost(t *testing.T) {
	d := open(t, fixture(t), testLimits)
	random := rand.New(rand.NewPCG(1, 2))
	echo := func(number string) string {
		params, err := engine.ParseParams([]json.RawMessage{json.RawMessage(number)})
		if err != nil {
			t.Fatalf("%s: %v", number, err)
		}
		raw, err := query(t, d, "SELECT ? AS v", params...)
		if err != nil {
			t.Fatalf("%s: %v", number, err)
		}
		var a struct{ Rows []map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(raw), &a); err != nil {
			t.Fatal(err)
		}
		return strings.Trim(string(a.Rows[0]["v"]), `"`)
	}
	for range 2000 {
		i := int64(random.Uint64())
		if random.IntN(2) == 0 {
			i >>= random.IntN(63)
		}
		if want := strconv.FormatInt(i, 10); echo(want) != want {
			t.Errorf("%s came out as %s", want, echo(want))
		}
		f := math.Float64frombits(random.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if got, err := strconv.ParseFloat(echo(text), 64); err != nil || math.Float64bits(got) != math.Float64bits(f) {
			t.Errorf("%s came out as %s", text, echo(text))
		}
	}
	for _, exact := range []string{
		"9007199254740993", "-9223372036854775808", "9223372036854775807", "12345678901234567890", "123456789012345678901234567890",
		"0.12345678901234567890", "1.10", "100000000000000000000000.5", "0.1", "-0.0",
	} {
		if got := echo(exact); got != exact && got != strings.TrimSuffix(exact, "0") && got != strings.TrimSuffix(exact, ".0") {
			t.Errorf("%s came out as %s", exact, got)
		}
	}
}

func TestParametersAreBoundByPosition(t *testing.T) {
	d := open(t, fixture(t), testLimits, "orders")
	text := func(s string) engine.Param { return engine.Param{Kind: engine.ParamText, Text: s} }
	number := func(i int64) engine.Param { return engine.Param{Kind: engine.ParamInt, Int: i} }
	for _, c := range []struct {
		sql    string
		params []engine.Param
		want   string
	}{
		{"SELECT ? AS a, ? AS b", []engine.Param{text("x"), number(1)}, `{"a":"x","b":1}`},
		{"SELECT ?2 AS a, ?1 AS b", []engine.Param{text("x"), number(1)}, `{"a":1,"b":"x"}`},
		{"SELECT :a AS a, @b AS b, $c AS c, :a AS d", []engine.Param{number(1), number(2), number(3)}, `{"a":1,"b":2,"c":3,"d":1}`},
		{"SELECT ? AS a, typeof(?1) AS b", []engine.Param{{Kind: engine.ParamNull}}, `{"a":null,"b":"null"}`},
		{"SELECT ? AS a, ? AS b", []engine.Param{{Kind: engine.ParamBool, Bool: true}, {Kind: engine.ParamBool}}, `{"a":1,"b":0}`},
		{"SELECT ? AS a, typeof(?1) AS b", []engine.Param{{Kind: engine.ParamFloat, Float: 2}}, `{"a":2,"b":"real"}`},
		{"SELECT ? AS a", []engine.Param{text("'; DROP TABLE orders; --")}, `{"a":"'; DROP TABLE orders; --"}`},
		{"SELECT ? AS a, length(?1) AS n", []engine.Param{text("")}, `{"a":"","n":0}`},
		{"SELECT hex(?) AS a", []engine.Param{text("a\x00b")}, `{"a":"610062"}`},
		{"SELECT id FROM orders WHERE status = ? AND total > ? ORDER BY id", []engine.Param{text("open"), {Kind: engine.ParamText, Text: "3.2"}}, `{"id":3},{"id":5}`},
	} {
		for range 2 { // judged, then from the cache
			raw, err := query(t, d, c.sql, c.params...)
			if err != nil || !strings.Contains(raw, `"rows":[`+c.want+`]`) {
				t.Errorf("%s: %s %v", c.sql, raw, err)
			}
		}
	}
	for _, c := range []struct {
		sql   string
		given int
	}{{"SELECT ?", 2}, {"SELECT ?, ?", 1}, {"SELECT 1", 1}, {"SELECT ?3", 1}} {
		if _, err := query(t, d, c.sql, make([]engine.Param, c.given)...); code(err) != engine.CodeBindCount {
			t.Errorf("%s with %d: %v", c.sql, c.given, err)
		}
	}
}
