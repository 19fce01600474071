// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/corpus"
	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

func code(err error) string {
	if e, ok := errors.AsType[*toolwharf.Error](err); ok {
		return e.Code
	}
	return ""
}

func judged(t *testing.T, p Policy, sql string) (*engine.Verdict, error) {
	t.Helper()
	return guardOf(t, p).Judge(t.Context(), sql)
}

func TestStatementsOfReaders(t *testing.T) {
	p := policy(t, "orders", "customers", "audit.log")
	p.Columns = map[string]bool{"id": true, "total": true}
	for _, sql := range []string{
		"SELECT o.id, c.name FROM orders o LEFT JOIN customers c USING (id) WHERE o.total BETWEEN 1 AND 2",
		"WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t",
		"WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT 1 AS x) SELECT * FROM a",
		"WITH t AS MATERIALIZED (SELECT 1 AS x) SELECT * FROM t WHERE x = ANY(ARRAY[1, 2]) AND x NOT IN (3)",
		"SELECT (j).key, (j).value FROM (SELECT jsonb_each(meta) AS j FROM orders) x",
		"SELECT EXTRACT(year FROM created_at), created_at::date, position('a' IN status), overlay(status PLACING 'x' FROM 1) FROM orders",
		"SELECT lpad(id::text, 5, '0'), format('%s-%5s', status, id) FROM orders",
		"SELECT status COLLATE \"C\", status SIMILAR TO 'a%', status ILIKE '%b', status ~* 'c' FROM orders ORDER BY 1 NULLS LAST",
		"SELECT current_date, localtimestamp(3), now() AT TIME ZONE 'UTC', interval '1 day' * 2",
		"SELECT pg_catalog.lower('A'), 1 OPERATOR(pg_catalog.+) 2",
		"SELECT * FROM jsonb_to_recordset('[]') AS x(a int, b text), generate_series(1, 2) WITH ORDINALITY AS g(n, o)",
		"SELECT string_agg(status, ',' ORDER BY id), array_agg(DISTINCT id) FILTER (WHERE id > 1) FROM orders GROUP BY ROLLUP (status)",
		"SELECT tags[1], tags[1:2], meta['a'] FROM orders WHERE (id, total) = (1, 2) AND EXISTS (SELECT FROM customers)",
		"SELECT CASE WHEN id IS NULL THEN 1 END, NULLIF(id, 1), COALESCE(id, 2), GREATEST(1, 2), id IS NOT DISTINCT FROM 2 FROM orders",
		"SELECT lag(id, 1) OVER (PARTITION BY status ORDER BY id) FROM orders LIMIT $1 OFFSET $2",
		"SELECT l.* FROM audit.log l, LATERAL (SELECT l.id) x(id)", "VALUES (1, 'a'), (2, NULL)", "(((SELECT 1)))",
		"SELECT E'it''s /* no comment */ -- \\' none', $a$ -- none $b$ /* $a$, U&'--', \"--\" FROM (SELECT 1 AS \"--\") x",
	} {
		if _, err := judged(t, p, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestStatementsOfAttackers(t *testing.T) {
	const (
		table     = engine.CodeTableNotAllowed
		function  = engine.CodeFunctionNotAllowed
		construct = engine.CodeConstructNotAllowed
		syntax    = engine.CodeSyntax
	)
	for _, c := range []struct{ sql, code string }{
		{"", syntax},
		{";", syntax},
		{" ;; ", syntax},
		{"SELECT \x00", syntax},
		{"SELECT '\xff'", syntax},
		{"SELECT '" + strings.Repeat("x", engine.MaxSQLBytes) + "'", syntax},
		{"SELECT " + strings.Repeat("(", 201) + "1" + strings.Repeat(")", 201), syntax},
		{"SELECT " + strings.Repeat("ARRAY[", 201) + "1" + strings.Repeat("]", 201), syntax},
		{"SELECT 1" + strings.Repeat("+1", 30_000), syntax},
		{"SELECT " + strings.Repeat("NOT ", 15_000) + "true", syntax},
		{"SELECT 1" + strings.Repeat(" UNION SELECT 1", 4_000), syntax},
		{"SELECT 1; SELECT 2", engine.CodeMultipleStatements},
		{"SELECT $a$;$a$; SELECT 2", engine.CodeMultipleStatements},
		{"SELECT 'a'\n'\\' -- ' ", engine.CodeComment},
		{"SELECT 1 --", engine.CodeComment},
		{"SELECT 1 +-- x\n 2", engine.CodeComment},
		{"SELECT/**/1", engine.CodeComment},
		{"SELECT '\\' -- '", engine.CodeComment},
		{"SELECT $1$$--$$", syntax},
		{"BEGIN", engine.CodeNotSelect},
		{"PREPARE p AS SELECT 1", engine.CodeNotSelect},
		{"RESET ALL", engine.CodeNotSelect},
		{"DECLARE c CURSOR FOR SELECT 1", engine.CodeNotSelect},
		{"EXPLAIN SELECT 1", engine.CodeNotSelect},
		{"LOAD 'x'", engine.CodeNotSelect},
		{"WITH x AS (UPDATE orders SET id = 1 RETURNING 1) SELECT 1", engine.CodeNotSelect},
		{"WITH x AS (MERGE INTO orders o USING customers c ON true WHEN MATCHED THEN DELETE RETURNING 1) SELECT 1", engine.CodeNotSelect},
		{"SELECT 1 WHERE EXISTS (SELECT 1 FROM orders FOR NO KEY UPDATE SKIP LOCKED)", construct},
		{"SELECT 1 INTO UNLOGGED x", construct},
		{"(SELECT 1 INTO x) UNION SELECT 2", construct},

		{"SELECT secrets FROM orders, secrets", table},
		{"SELECT * FROM PUBLIC.SECRETS", table},
		{"SELECT * FROM evil.orders", table},
		{"SELECT * FROM \"evil.orders\"", table},
		{"SELECT * FROM \"public\".\"secrets\"", table},
		{"SELECT * FROM shop.public.orders", table},
		{"SELECT * FROM pg_catalog.orders", table},
		{"SELECT * FROM pg_temp.orders", table},
		{"SELECT * FROM pg_toast.x", table},
		{"WITH a AS (WITH secrets AS (SELECT 1) SELECT 1) SELECT * FROM secrets", table},
		{"WITH secrets AS (SELECT 1) SELECT (SELECT max(id) FROM secrets), (SELECT max(id) FROM public.secrets)", table},
		{"SELECT 1 UNION (WITH secrets AS (SELECT 1) SELECT * FROM secrets) UNION SELECT id FROM secrets", table},
		{"WITH RECURSIVE t AS (SELECT 1 UNION SELECT * FROM secrets) SELECT * FROM t", table},
		{"WITH RECURSIVE t(x) AS (SELECT 1) CYCLE x SET c TO (SELECT max(token) FROM secrets) DEFAULT '' USING p SELECT * FROM t", ""},
		{"SELECT count(*) FILTER (WHERE EXISTS (TABLE secrets)) FROM orders", table},
		{"SELECT sum(id) OVER (ORDER BY (SELECT 1 FROM secrets)) FROM orders", table},
		{"SELECT sum(id) OVER (ROWS (SELECT 1 FROM secrets) PRECEDING) FROM orders", table},
		{"SELECT tags[(SELECT 1 FROM secrets)] FROM orders", table},
		{"SELECT DISTINCT ON ((SELECT 1 FROM secrets)) 1 FROM orders", table},
		{"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY (SELECT id FROM secrets)) FROM orders", table},
		{"SELECT 1 FETCH FIRST (SELECT 1 FROM secrets) ROWS ONLY", table},
		{"SELECT 1 OFFSET (SELECT 1 FROM secrets)", table},
		{"SELECT CASE (TABLE secrets) WHEN 1 THEN 2 END", table},
		{"SELECT ROW((TABLE secrets))", table},
		{"SELECT 1 = ANY (TABLE secrets)", table},
		{"SELECT * FROM LATERAL (TABLE secrets) x", table},
		{"SELECT json_object('a': (SELECT token FROM secrets))", table},
		{"SELECT json_array(SELECT token FROM secrets)", table},
		{"SELECT * FROM json_table((SELECT token FROM secrets)::jsonb, '$' COLUMNS (a int PATH '$')) x", table},

		{"SELECT public.lower('A')", function},
		{"SELECT evil.lower('A')", function},
		{"SELECT pg_catalog.pg_sleep(1)", function},
		{"SELECT \"LOWER\"('A')", function},
		{"SELECT \"pg_catalog.lower\"('A')", function},
		{"SELECT a.b.lower('A')", construct},
		{"SELECT current_user", function},
		{"SELECT SESSION_USER", function},
		{"SELECT current_schema", function},
		{"SELECT current_catalog", function},
		{"SELECT system_user", function},
		{"SELECT version()", function},
		{"SELECT current_setting('x')", function},
		{"SELECT to_regclass('secrets')", function},
		{"SELECT regclass('secrets')", function},
		{"SELECT has_table_privilege('secrets', 'x')", function},
		{"SELECT pg_relation_size('secrets')", function},
		{"SELECT nextval('s1')", function},
		{"SELECT currval('s1')", function},
		{"SELECT database_to_xml(true, false, '')", function},
		{"SELECT cursor_to_xml('c', 1, true, false, '')", function},
		{"SELECT * FROM connectby('secrets', 'id', 'id', '1', 0) AS t(a int, b int, c int)", function},
		{"SELECT lo_get(1)", function},
		{"SELECT pg_logical_emit_message(true, 'a', 'b')", function},
		{"SELECT pg_stat_file('x')", function},
		{"SELECT setseed(0)", function},
		{"SELECT array_fill(0, ARRAY[100000000])", function},
		{"SELECT lpad('x', 1000000000)", construct},
		{"SELECT rpad('x', id) FROM orders", construct},
		{"SELECT format('%1000000000s', 'x')", construct},
		{"SELECT format('%*s', 1000000000, 'x')", construct},
		{"SELECT format(status, 1) FROM orders", construct},
		{"SELECT format('%1$1000000000s', 'x')", construct},
		{"SELECT format('%1$-*2$s', 'x', 1000000000)", construct},
		{"SELECT 1 FROM orders GROUP BY pg_sleep(1)", function},
		{"SELECT 1 LIMIT pg_backend_pid()", function},
		{"SELECT public.orders.risky FROM public.orders", function},
		{"SELECT (o.o).risky FROM orders o", function},
		{"SELECT ((SELECT o FROM orders o LIMIT 1)).risky", function},
		{"SELECT (ROW(1)).risky", function},
		{"SELECT 1 FROM orders o ORDER BY o.risky", function},
		{"SELECT (array_agg(o))[1].risky FROM orders o", function},
		{"SELECT 1 FROM orders o JOIN customers c ON o.risky = c.name", function},
		{"SELECT \"o\".\"risky\" FROM orders o", function},

		{"SELECT 1 <<<>>> 2", construct},
		{"SELECT <<<>>> 2", construct},
		{"SELECT 1 OPERATOR(public.+) 2", construct},
		{"SELECT 1 <<<>>> ANY (ARRAY[2])", construct},
		{"SELECT 1 OPERATOR(public.=) ANY (SELECT 1)", construct},
		{"SELECT 1 <<<>>> ALL (SELECT 1)", construct},
		{"SELECT id FROM orders ORDER BY id USING <<<>>>", construct},
		{"SELECT id FROM orders ORDER BY id USING OPERATOR(public.<)", construct},
		{"SELECT (1, 2) <<<>>> (3, 4)", construct},
		{"SELECT 'x'::regproc", construct},
		{"SELECT CAST('x' AS regrole)", construct},
		{"SELECT regnamespace 'x'", construct},
		{"SELECT NULL::orders", construct},
		{"SELECT NULL::public.secrets[]", construct},
		{"SELECT '{x}'::regclass[]", construct},
		{"SELECT 'x'::pg_catalog.regclass", construct},
		{"SELECT NULL::secrets.token%TYPE", construct},
		{"SELECT 'x'::xml", construct},
		{"SELECT * FROM json_to_record('{}') AS x(a regclass)", construct},
		{"SELECT * FROM json_to_record('{}') AS x(a secrets)", construct},
		{"SELECT JSON_VALUE('1', '$' RETURNING regclass)", construct},
		{"SELECT 'x'::evil.text", construct},
		{"SELECT * FROM orders TABLESAMPLE public.evil(1)", construct},
		{"SELECT * FROM orders TABLESAMPLE system_rows(1)", construct},
		{"SELECT xmlelement(name a, 'x')", construct},
		{"SELECT * FROM xmltable('/a' PASSING '<a/>' COLUMNS b text)", construct},
		{"SELECT xmlparse(document '<a/>')", construct},
		{"SELECT 'a' COLLATE evil.c", construct},
	} {
		v, err := judged(t, policy(t, "orders", "customers"), c.sql)
		if err == nil || c.code != "" && code(err) != c.code {
			t.Errorf("%.200s: expected %s, got %+v %v", c.sql, c.code, v, err)
		}
	}
}

func TestAVerdictSaysWhatIsReadAndCalled(t *testing.T) {
	p := policy(t, "orders", "audit.log")
	p.Functions = []string{"risky", "ext.f"}
	v, err := judged(t, p, "WITH x AS (SELECT 1) SELECT o.id, pg_catalog.lower($2), risky(o), ext.f() FROM public.orders o, orders, audit.log, x")
	want := &engine.Verdict{Tables: []engine.Name{{Name: "orders"}, {Schema: "audit", Name: "log"}}, Functions: []string{"ext.f", "lower", "risky"}, Params: 2}
	if err != nil {
		t.Fatal(err)
	}
	want.SQL = v.SQL
	if !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v, want %+v", v, want)
	}
}

func TestACommentIsTakenOutOfWhatRuns(t *testing.T) {
	p := policy(t, "orders")
	p.Strip = true
	for sql, want := range map[string]string{
		"SELECT 1 -- one":                "SELECT 1       ",
		"SELECT/* a /* b */ */E'\\'--'":  "SELECT               E'\\'--'",
		"SELECT '/* no comment */'":      "SELECT '/* no comment */'",
		"SELECT E'a'\n'\\' -- b'":        "SELECT E'a'\n'\\' -- b'",
		"SELECT -/**/-1 --\n, $$--$$--é": "SELECT -    -1   \n, $$--$$    ",
	} {
		v, err := judged(t, p, sql)
		if err != nil || v.SQL != want {
			t.Errorf("%s: got %+v %v, want %s", sql, v, err, want)
		}
	}
	if _, err := judged(t, p, "SELECT /* */ 1 FROM secrets"); code(err) != engine.CodeTableNotAllowed {
		t.Errorf("got %v", err)
	}
}

func TestNamesThatAUserHasTakenAreNotBuiltIn(t *testing.T) {
	p := policy(t, "orders")
	p.UserFunctions, p.UserOperators = map[string]bool{"lower": true}, map[string]bool{"+": true, "<": true}
	for _, sql := range []string{"SELECT lower('A')", "SELECT o.lower FROM orders o", "SELECT 1 + 2", "SELECT 1 BETWEEN 0 AND 2"} {
		if _, err := judged(t, p, sql); err == nil {
			t.Errorf("%s: allowed", sql)
		}
	}
	for _, sql := range []string{"SELECT pg_catalog.lower('A')", "SELECT 1 OPERATOR(pg_catalog.+) 2"} {
		if _, err := judged(t, p, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestAllTablesAreNotThoseOfPostgreSQL(t *testing.T) {
	p := Policy{All: true, DefaultSchema: "shop", Tables: []engine.Name{{Schema: "information_schema", Name: "tables"}, {Schema: "pg_catalog", Name: "pg_authid"}}}
	for sql, allowed := range map[string]bool{
		"SELECT * FROM x": true, "SELECT * FROM a.b": true, "SELECT * FROM information_schema.tables": true,
		"SELECT * FROM information_schema.columns": false, "SELECT * FROM pg_class": false, "SELECT * FROM pg_catalog.pg_authid": false,
		"SELECT * FROM pg_authid": false, "SELECT * FROM shop.pg_class": true,
	} {
		if _, err := judged(t, p, sql); (err == nil) != allowed {
			t.Errorf("%s: got %v", sql, err)
		}
	}
}

func TestWithoutACatalogueAFieldOfAnExpressionIsRefused(t *testing.T) {
	g := guardOf(t, Policy{All: true})
	with := guardOf(t, Policy{All: true, RowFunctions: map[string]bool{"risky": true}, Columns: map[string]bool{"status": true}})
	for sql, allowed := range map[string]bool{"SELECT o.status FROM orders o": true, "SELECT (o).status FROM orders o": false} {
		if _, err := g.Judge(t.Context(), sql); (err == nil) != allowed {
			t.Errorf("%s: got %v", sql, err)
		}
		if _, err := with.Judge(t.Context(), sql); err != nil {
			t.Errorf("%s: with a catalogue: %v", sql, err)
		}
	}
}

func TestWaitingForTheParserEndsWithTheContext(t *testing.T) {
	turn <- struct{}{}
	defer func() { <-turn }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := guardOf(t, Policy{}).Judge(ctx, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkJudge(b *testing.B) {
	const sql = "WITH t AS (SELECT customer_id, sum(total) AS s FROM orders WHERE status = $1 GROUP BY 1) SELECT c.name, t.s FROM t JOIN customers c ON c.id = t.customer_id ORDER BY 2 DESC LIMIT 10"
	g := guardOf(b, policy(b, "orders", "customers"))
	for name, judge := range map[string]func(context.Context, string) (*engine.Verdict, error){"known": g.Judge, "new": g.judge} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := judge(b.Context(), sql); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzGuard asks of any text that is allowed: is it one that reads, are its
// tables listed, and is that still so when it is written anew?
func FuzzGuard(f *testing.F) {
	for _, line := range corpus.Read(f, corpusFile) {
		f.Add(line.SQL)
	}
	for _, sql := range []string{"SELECT E'a' -- x\n'\\' -- b'", "SELECT $1$$--$$", "WITH secrets AS (SELECT 1) SELECT * FROM secrets, public.secrets"} {
		f.Add(sql)
	}
	p := policy(f, "orders", "customers")
	p.Strip = true
	g := guardOf(f, p)
	f.Fuzz(func(t *testing.T, sql string) {
		v, err := g.Judge(t.Context(), sql)
		if err != nil {
			if code(err) == "" {
				t.Fatalf("an error that explains nothing: %v", err)
			}
			return
		}
		for _, table := range v.Tables {
			if table.Schema != "" || table.Name != "orders" && table.Name != "customers" {
				t.Fatalf("reads %s", table)
			}
		}
		if comments, err := lex(v.SQL); err != nil || len(comments) > 0 {
			t.Fatalf("runs %q: comments at %v, %v", v.SQL, comments, err)
		}
		if again, err := g.judge(t.Context(), v.SQL); err != nil || !reflect.DeepEqual(again, v) {
			t.Fatalf("%q is allowed, what runs is not the same: %+v %v", sql, again, err)
		}
	})
}
