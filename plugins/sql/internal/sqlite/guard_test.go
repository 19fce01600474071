// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// nested is a schema in which much is readable only through views.
const nested = `
CREATE TABLE base(id INTEGER PRIMARY KEY, owner TEXT, amount INT);
INSERT INTO base VALUES (1,'ann',10),(2,'bob',20),(3,'ann',30);
CREATE TABLE secrets(id INT, token TEXT);
INSERT INTO secrets VALUES (1, 'CANARY-7f3a');
CREATE TABLE open(id INT, note TEXT);
INSERT INTO open VALUES (1,'one'),(2,'two');
CREATE VIEW inner_view AS SELECT id, owner FROM base WHERE owner = 'ann';
CREATE VIEW outer_view AS SELECT id FROM inner_view WHERE id > 0;
CREATE VIEW cte_view AS WITH t AS (SELECT id, amount FROM base) SELECT count(*) AS n, sum(amount) AS total FROM t;
CREATE VIEW commented AS SELECT id /* a comment */ FROM base; -- and another
CREATE VIEW broken AS SELECT * FROM gone;
CREATE VIEW counts AS SELECT (SELECT count(*) FROM base) AS n;
CREATE VIEW joined AS SELECT o.id, b.owner FROM open o JOIN base b ON b.id = o.id;
CREATE TABLE "main.dotted"(id INT);
CREATE INDEX base_owner ON base(owner);
`

func TestListedViewsGiveWhatIsBehindThem(t *testing.T) {
	d := open(t, newFile(t, nested), testLimits, "outer_view", "cte_view", "commented", "counts", "joined", "open")
	for sql, rows := range map[string]int{
		"SELECT * FROM outer_view":                                                                   2,
		"SELECT count(*) FROM outer_view":                                                            1,
		"SELECT 1 FROM outer_view, open":                                                             4,
		"SELECT n, total FROM cte_view":                                                              1,
		"SELECT count(*) FROM cte_view":                                                              1,
		"SELECT id FROM commented":                                                                   3,
		"SELECT n FROM counts":                                                                       1,
		"SELECT id, owner FROM joined":                                                               2,
		"SELECT count(*) FROM joined":                                                                1,
		"WITH t AS (SELECT * FROM cte_view) SELECT * FROM t":                                         1,
		"WITH inner_view AS (SELECT id FROM outer_view) SELECT * FROM inner_view":                    2,
		"SELECT (SELECT count(*) FROM outer_view) AS n, o.id FROM open o":                            2,
		"SELECT * FROM (SELECT id FROM outer_view UNION ALL SELECT id FROM open)":                    4,
		"WITH base AS (SELECT id FROM open) SELECT count(*) FROM base":                               1,
		"WITH base AS (SELECT id FROM open), x AS (SELECT id FROM outer_view) SELECT 1 FROM base, x": 4,
		"SELECT id AS base, note AS secrets FROM open":                                               2,
	} {
		if a := mustQuery(t, d, sql); len(a.Rows) != rows {
			t.Errorf("%s: %d rows, want %d", sql, len(a.Rows), rows)
		}
	}
}

func TestWhatIsBehindListedViewsStaysThere(t *testing.T) {
	d := open(t, newFile(t, nested), testLimits, "outer_view", "cte_view", "counts", "joined", "open", "broken")
	for sql, want := range map[string]string{
		"SELECT * FROM base":                                                                      engine.CodeTableNotAllowed,
		"SELECT * FROM inner_view":                                                                engine.CodeTableNotAllowed,
		"SELECT count(*) FROM base":                                                               engine.CodeTableNotAllowed,
		"SELECT count(*) FROM outer_view, base":                                                   engine.CodeTableNotAllowed,
		"SELECT 1 FROM outer_view WHERE EXISTS (SELECT 1 FROM base)":                              engine.CodeTableNotAllowed,
		"WITH t AS (SELECT * FROM base) SELECT * FROM t":                                          engine.CodeTableNotAllowed,
		"WITH t AS (SELECT count(*) AS n FROM base) SELECT n FROM t, cte_view":                    engine.CodeTableNotAllowed,
		"WITH inner_view AS (SELECT * FROM base) SELECT * FROM inner_view":                        engine.CodeTableNotAllowed,
		"WITH inner_view AS (SELECT * FROM secrets) SELECT * FROM inner_view":                     engine.CodeTableNotAllowed,
		"WITH outer_view AS (SELECT * FROM base) SELECT * FROM outer_view":                        engine.CodeConstructNotAllowed,
		"WITH 'outer_view' AS (SELECT 1 AS x) SELECT * FROM outer_view":                           engine.CodeConstructNotAllowed,
		"WITH [OUTER_VIEW](x) AS NOT MATERIALIZED (SELECT 1) SELECT x FROM outer_view":            engine.CodeConstructNotAllowed,
		"SELECT (WITH base AS (SELECT 1) SELECT count(*) FROM base), (SELECT count(*) FROM base)": engine.CodeTableNotAllowed,
		"SELECT * FROM cte_view, (SELECT owner FROM base)":                                        engine.CodeTableNotAllowed,
		"SELECT * FROM broken":                                                                    engine.CodeDBError,
	} {
		if got, err := query(t, d, sql); code(err) != want {
			t.Errorf("%s: %s %v, want %s", sql, got, err, want)
		}
	}
}

func TestNothingIsReadableUnlessListed(t *testing.T) {
	path := fixture(t)
	for _, tables := range [][]string{nil, {"nothere"}} {
		d := open(t, path, testLimits, tables...)
		if _, err := query(t, d, "SELECT * FROM orders"); code(err) != engine.CodeTableNotAllowed {
			t.Errorf("%v: %v", tables, err)
		}
		if list, err := d.Tables(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%v: %v %v", tables, list, err)
		}
		if a := mustQuery(t, d, "SELECT 1 AS one"); len(a.Rows) != 1 {
			t.Errorf("a statement without tables gave %v", a)
		}
	}
}

func TestAStarListsAllButWhatIsInternal(t *testing.T) {
	d := open(t, fixture(t), testLimits, "*")
	tables, err := d.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range tables {
		names = append(names, table.Name+":"+string(table.Kind))
	}
	want := "customers:table docs:virtual orders:table secrets:table v_leak:view v_paid:view we;ird -- name:table"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, sql := range []string{"SELECT * FROM sqlite_schema", "SELECT * FROM docs_content", "SELECT * FROM sqlite_master"} {
		if _, err := query(t, d, sql); code(err) != engine.CodeTableNotAllowed {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestNamesAreWholeAndCompareAsSQLiteCompares(t *testing.T) {
	d := open(t, newFile(t, nested, `CREATE TABLE "ſecrets"(id INT)`), testLimits, "main.open", "main.dotted", "ſecrets", "SQLITE_SCHEMA")
	for sql, want := range map[string]string{
		"SELECT * FROM OPEN":               "",
		"SELECT * FROM main.open":          "",
		`SELECT * FROM "main.dotted"`:      "",
		"SELECT * FROM dotted":             engine.CodeTableNotAllowed,
		"SELECT * FROM secrets":            engine.CodeTableNotAllowed, // the long s is another letter
		`SELECT * FROM "ſecrets"`:          "",
		"SELECT * FROM sqlite_schema":      engine.CodeTableNotAllowed,
		"SELECT * FROM evil.open":          engine.CodeTableNotAllowed,
		"SELECT * FROM temp.open":          engine.CodeTableNotAllowed,
		"SELECT open.id FROM open AS open": "",
	} {
		if _, err := query(t, d, sql); code(err) != want {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
}

func TestRefusalsHaveTheirCodes(t *testing.T) {
	d := open(t, fixture(t), testLimits, "orders", "customers")
	for sql, want := range map[string]string{
		"SELECT 1;;;":                                    "",
		" \n\tSELECT\f1\r\n":                             "",
		"select 1 union all select 2":                    "",
		"SELECT x'2d2d', '--', \"id\", [id] FROM orders": "",
		"SELECT 'a;b', 'it''s -- /* fine */'":            "",
		"SELECT value FROM generate_series(1, 3)":        "",
		"SELECT key FROM json_tree('[1]')":               "",
		"SELECT 1 - -1":                                  "",
		"SELECT 1--1":                                    engine.CodeComment,
		"SELECT /":                                       engine.CodeSyntax,
		"SELECT 1 /":                                     engine.CodeSyntax,
		"SELECT 1 /*":                                    engine.CodeComment,
		"SELECT 1; SELECT 2":                             engine.CodeMultipleStatements,
		"; SELECT 1":                                     engine.CodeMultipleStatements,
		"(SELECT 1)":                                     engine.CodeNotSelect,
		"SELECT":                                         engine.CodeSyntax,
		"SELEC 1":                                        engine.CodeNotSelect,
		"SELECT 1 FRO orders":                            engine.CodeSyntax,
		"SELECT 'unterminated":                           engine.CodeSyntax,
		"SELECT [unterminated":                           engine.CodeSyntax,
		"SELECT x'unterminated":                          engine.CodeSyntax,
		"SELECT \xff":                                    engine.CodeSyntax,
		"SELECT 1\x00":                                   engine.CodeSyntax,
		"SELECT #1":                                      engine.CodeConstructNotAllowed,
		"SELECT $a::b":                                   engine.CodeConstructNotAllowed,
		"SELECT $a(b)":                                   engine.CodeConstructNotAllowed,
		"SELECT \uFEFFid FROM orders":                    engine.CodeConstructNotAllowed,
		"\uFEFFSELECT 1":                                 engine.CodeConstructNotAllowed,
		"SELECT " + strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300): engine.CodeSyntax,
		"SELECT '" + strings.Repeat("x", engine.MaxSQLBytes) + "'":            engine.CodeSyntax,
		"SELECT nocol FROM orders":                                            engine.CodeDBError,
		"SELECT ?":                                                            engine.CodeBindCount,
		"SELECT ?5":                                                           engine.CodeBindCount,
		"SELECT sqlite_log(1, 'x')":                                           engine.CodeFunctionNotAllowed,
		"SELECT sqlite_compileoption_get(1)":                                  engine.CodeFunctionNotAllowed,
		"SELECT nosuch(1)":                                                    engine.CodeFunctionNotAllowed,
		"SELECT abs('x', 'y', 'z')":                                           engine.CodeDBError,
		"SELECT * FROM pragma_database_list":                                  engine.CodeTableNotAllowed,
		"SELECT * FROM pragma_function_list":                                  engine.CodeTableNotAllowed,
		"SELECT * FROM dbstat":                                                engine.CodeTableNotAllowed,
		"SELECT abs(-9223372036854775808)":                                    engine.CodeDBError, // at run time
		"REPLACE INTO orders(id) VALUES (1)":                                  engine.CodeNotSelect,
		"WITH a AS (SELECT 1) UPDATE orders SET id = 1":                       engine.CodeNotSelect,
		"WITH a AS (SELECT 1) REPLACE INTO orders(id) SELECT 1":               engine.CodeNotSelect,
		"SELECT * FROM orders RETURNING id":                                   engine.CodeSyntax,
		"SELECT 1 FROM orders; --":                                            engine.CodeComment,
	} {
		if got, err := query(t, d, sql); code(err) != want {
			if len(sql) > 100 {
				sql = sql[:100]
			}
			t.Errorf("%q: %s %v, want %q", sql, got, err, want)
		}
	}
}

func TestErrorsNeverHoldThePath(t *testing.T) {
	path := fixture(t)
	d := open(t, path, testLimits, "orders")
	for _, sql := range []string{"SELECT * FROM secrets", "SELECT nocol FROM orders", "ATTACH 'x' AS y", "SELECT * FROM pragma_database_list"} {
		_, err := query(t, d, sql)
		if err == nil || strings.Contains(err.Error(), "test.db") || strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestFullTextSearchReadsItsOwnTables(t *testing.T) {
	path := newFile(t, `
		CREATE VIRTUAL TABLE docs USING fts5(title, body);
		INSERT INTO docs VALUES ('one', 'the quick brown fox'), ('two', 'a quick word'), ('three', 'nothing');
		CREATE TABLE articles(id INTEGER PRIMARY KEY, text TEXT);
		INSERT INTO articles VALUES (1, 'slow and quick'), (2, 'other');
		CREATE VIRTUAL TABLE found /* of articles */ USING fts5(text, content='articles', content_rowid='id');
		INSERT INTO found(found) VALUES ('rebuild');
	`)
	d := open(t, path, testLimits, "docs", "found")
	for sql, rows := range map[string]int{
		"SELECT * FROM docs":        3,
		"SELECT count(*) FROM docs": 1,
		"SELECT title FROM docs WHERE docs MATCH 'quick' ORDER BY rank":                                           2,
		"SELECT title, bm25(docs) FROM docs('quick') ORDER BY bm25(docs)":                                         2,
		"SELECT highlight(docs, 1, '<', '>'), snippet(docs, 1, '', '', '', 3) FROM docs WHERE docs MATCH 'quick'": 2,
		"SELECT text FROM found WHERE found MATCH 'quick'":                                                        1,
		"SELECT rowid, text FROM found ORDER BY rank":                                                             2,
	} {
		for range 2 { // prepared and judged, then from the cache
			if a := mustQuery(t, d, sql); len(a.Rows) != rows {
				t.Errorf("%s: %d rows, want %d", sql, len(a.Rows), rows)
			}
		}
	}
	for _, sql := range []string{
		"SELECT * FROM docs_content", "SELECT * FROM docs_data", "SELECT * FROM articles",
		"SELECT count(*) FROM docs_config", "SELECT fts5('x')", "SELECT * FROM docs, docs_content",
	} {
		if _, err := query(t, d, sql); code(err) != engine.CodeTableNotAllowed && code(err) != engine.CodeFunctionNotAllowed {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
