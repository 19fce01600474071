// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

func code(err error) string {
	if e, ok := errors.AsType[*toolwharf.Error](err); ok {
		return e.Code
	}
	return ""
}

// judgeAll holds statements, one a line, against one code of a refusal; "" is
// none.
func judgeAll(t *testing.T, g *Guard, want, statements string) {
	t.Helper()
	for sql := range strings.SplitSeq(statements, "\n") {
		if sql = strings.TrimSpace(sql); sql == "" {
			continue
		}
		v, err := g.Judge(sql)
		if code(err) != want || want == "" && (err != nil || v == nil) {
			t.Errorf("%s\n\t%v, want %q", sql, err, want)
		}
	}
}

func TestReadingIsAllowed(t *testing.T) {
	judgeAll(t, newGuard(t, Policy{}, "orders", "customers", "audit.log"), "", `
		SELECT 1
		(SELECT 1)
		SELECT 1 FROM DUAL
		SELECT * FROM orders WHERE id = ? AND status IN (?, ?) LIMIT ? OFFSET ?
		SELECT o.*, shop.o.id FROM shop.orders AS o
		SELECT * FROM audit.log
		SELECT 5--1, 5 --1, 5 - -1, 5-(-1) FROM orders WHERE status = '# -- /* */'
		SELECT * FROM orders o JOIN customers c USING (id) LEFT JOIN orders p ON p.id = c.id CROSS JOIN orders q NATURAL JOIN orders r
		SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM customers WHERE customers.id = orders.id)
		SELECT id FROM orders UNION ALL SELECT id FROM customers ORDER BY 1 LIMIT 3
		(SELECT id FROM orders) UNION (SELECT id FROM customers) EXCEPT SELECT 3 INTERSECT SELECT 1
		WITH a AS (SELECT id FROM orders), b(n) AS (SELECT id FROM a) SELECT n FROM b WHERE n IN (SELECT id FROM a)
		WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT SUM(n) FROM r
		WITH a AS (WITH b AS (SELECT 1 x) SELECT x FROM b) SELECT x FROM a
		WITH a AS (SELECT 1) (SELECT * FROM a) UNION SELECT * FROM a
		TABLE orders
		VALUES ROW(1, 2), ROW(3, 4)
		SELECT * FROM (VALUES ROW(1,2)) AS v
		SELECT CASE status WHEN 'a' THEN 1 ELSE 2 END, CASE WHEN total > 1 THEN 'x' END FROM orders
		SELECT CAST(total AS CHAR(10)), CONVERT(total, SIGNED), CONVERT(status USING utf8mb4), BINARY status, CAST(id AS DECIMAL(10,2)), CAST(id AS JSON) FROM orders
		SELECT DATE_ADD(created_at, INTERVAL 1 DAY), created_at - INTERVAL 1 MONTH, EXTRACT(YEAR FROM created_at), TIMESTAMPDIFF(SECOND, created_at, NOW()) FROM orders
		SELECT TRIM(LEADING 'x' FROM status), SUBSTRING(status FROM 2 FOR 3), POSITION('a' IN status), LEFT(status, 2) FROM orders
		SELECT COUNT(DISTINCT status), COUNT(*), GROUP_CONCAT(DISTINCT status ORDER BY status DESC SEPARATOR ', ') FROM orders GROUP BY customer_id WITH ROLLUP HAVING COUNT(*) > 1
		SELECT SUM(total) OVER w, LAG(total, 1) OVER (PARTITION BY status ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders WINDOW w AS (ORDER BY id)
		SELECT status LIKE 'a\\%' ESCAPE '|', status NOT LIKE 'x', status REGEXP '^a', status RLIKE 'b', id BETWEEN 1 AND 2, id IS NOT NULL, id IS TRUE, NOT id, id <=> NULL FROM orders
		SELECT meta->'$.a', meta->>'$.a', JSON_VALUE(meta, '$.a' RETURNING SIGNED), 1 MEMBER OF (meta) FROM orders
		SELECT j.a FROM orders, JSON_TABLE(meta, '$[*]' COLUMNS (n FOR ORDINALITY, a INT PATH '$.a' DEFAULT '1' ON EMPTY, NESTED PATH '$.b[*]' COLUMNS (c VARCHAR(10) PATH '$'))) AS j
		SELECT MATCH (status) AGAINST ('x' IN BOOLEAN MODE) FROM orders
		SELECT (1, 2) = (SELECT 1, 2), id > ALL (SELECT id FROM customers), id = ANY (SELECT 1) FROM orders
		SELECT _utf8mb4'x' COLLATE utf8mb4_bin, N'y', x'41', 0x41, b'01', 1.5e3, .5, TRUE, NULL, DATE '2026-01-01', TIMESTAMP '2026-01-01 00:00:00'
		SELECT @@version, @@session.sql_mode, @@global.time_zone
		SELECT * FROM orders USE INDEX (PRIMARY) FORCE INDEX FOR ORDER BY (PRIMARY)
		SELECT * FROM orders PARTITION (p0)
		SELECT größe, 名前 FROM orders AS bestellungen_ä
		SELECT DISTINCT SQL_NO_CACHE STRAIGHT_JOIN id FROM orders ORDER BY id DESC, RAND()
		SELECT id DIV 2, id MOD 2, id % 2, id & 1 | 2 ^ 3, ~id, !id, id << 1, id XOR 1, id && 1, id || 0 FROM orders
		SELECT * FROM orders o, LATERAL (SELECT o.id) AS l
		SELECT IF(id, 1, 2), COALESCE(id, 1), REPLACE(status, 'a', 'b'), INSERT(status, 1, 1, 'x'), CHAR(65 USING utf8mb4) FROM orders;
	`)
}

func TestWhatDoesNotReadIsNoSelect(t *testing.T) {
	judgeAll(t, newGuard(t, Policy{Functions: []string{"p"}}, "orders"), engine.CodeNotSelect, `
		INSERT INTO orders VALUES (1)
		UPDATE orders SET id = 1
		DELETE FROM orders
		WITH a AS (SELECT 1) DELETE FROM orders
		WITH a AS (SELECT 1) UPDATE orders SET id = 2
		REPLACE orders SELECT 1
		TRUNCATE orders
		LOAD DATA INFILE '/etc/passwd' INTO TABLE orders
		LOAD XML INFILE '/etc/passwd' INTO TABLE orders
		IMPORT TABLE FROM '/tmp/x.sdi'
		CREATE TABLE t AS SELECT 1
		CREATE VIEW v AS SELECT 1
		ALTER TABLE orders ADD x INT
		DROP TABLE orders
		RENAME TABLE orders TO x
		GRANT ALL ON *.* TO root
		SET GLOBAL general_log = 1
		SET SESSION sql_mode = 'ANSI_QUOTES'
		USE mysql
		SHOW TABLES
		SHOW GRANTS
		DESCRIBE orders
		DESC orders
		EXPLAIN SELECT 1
		EXPLAIN FOR CONNECTION 1
		ANALYZE TABLE orders
		CHECK TABLE orders
		OPTIMIZE TABLE orders
		LOCK TABLES orders READ
		UNLOCK TABLES
		BEGIN
		START TRANSACTION
		COMMIT
		ROLLBACK
		SAVEPOINT a
		XA START 'x'
		PREPARE s FROM 'SELECT 1'
		EXECUTE s
		EXECUTE IMMEDIATE 'SELECT 1'
		DEALLOCATE PREPARE s
		CALL p()
		DO p()
		HANDLER orders OPEN
		HANDLER orders READ FIRST
		KILL QUERY 1
		SHUTDOWN
		RESTART
		FLUSH TABLES
		RESET MASTER
		PURGE BINARY LOGS TO 'x'
		CHANGE MASTER TO MASTER_HOST='x'
		INSTALL PLUGIN x SONAME 'x.so'
		INSTALL SONAME 'x'
		CREATE FUNCTION x RETURNS INTEGER SONAME 'x.so'
		CLONE LOCAL DATA DIRECTORY = '/tmp/x'
		BINLOG 'x'
		HELP 'x'
		SIGNAL SQLSTATE '45000'
		GET DIAGNOSTICS CONDITION 1 p = MESSAGE_TEXT
		TRACE SELECT 1
		ADMIN SHOW DDL
		IF 1 THEN SELECT 1
		LOOP SELECT 1
	`)
}

func TestTablesThatAreNotListedAreRefusedWhereverTheyStand(t *testing.T) {
	judgeAll(t, newGuard(t, Policy{}, "orders", "audit.log"), engine.CodeTableNotAllowed, `
		SELECT * FROM secrets
		select*from`+"`secrets`"+`
		SELECT(SELECT token FROM secrets)
		SELECT * FROM log
		SELECT * FROM audit.orders
		SELECT * FROM Shop.orders
		SELECT * FROM Orders
		SELECT * FROM ORDERS
		SELECT * FROM shop.log
		SELECT * FROM other.orders
		SELECT * FROM `+"`audit.log`"+`
		SELECT * FROM `+"`shop`.`shop.orders`"+`
		SELECT * FROM orders, secrets
		SELECT * FROM (orders, secrets)
		SELECT * FROM (orders JOIN (secrets))
		SELECT * FROM orders JOIN secrets
		SELECT * FROM orders LEFT JOIN (secrets CROSS JOIN orders o) ON 1
		SELECT * FROM orders JOIN orders o ON (SELECT 1 FROM secrets)
		SELECT * FROM (SELECT * FROM secrets) x
		SELECT * FROM ((SELECT * FROM secrets)) x
		SELECT * FROM (TABLE secrets) x
		SELECT * FROM orders o, LATERAL (SELECT * FROM secrets) l
		TABLE secrets
		TABLE orders UNION TABLE secrets
		VALUES ROW((SELECT token FROM secrets))
		SELECT 1 UNION SELECT token FROM secrets
		(SELECT 1) UNION ALL (SELECT token FROM secrets)
		SELECT 1 INTERSECT SELECT token FROM secrets
		SELECT 1 UNION (SELECT 1 UNION (SELECT token FROM secrets))
		SELECT 1 FROM orders WHERE id = (SELECT id FROM secrets)
		SELECT 1 FROM orders WHERE (id, 1) IN (SELECT id, 1 FROM secrets)
		SELECT 1 FROM orders WHERE id = ANY (SELECT id FROM secrets)
		SELECT 1 FROM orders WHERE EXISTS (TABLE secrets)
		SELECT 1 FROM orders WHERE status LIKE (SELECT token FROM secrets)
		SELECT 1 FROM orders WHERE id BETWEEN (SELECT 1 FROM secrets) AND 3
		SELECT 1 FROM orders WHERE status REGEXP (SELECT token FROM secrets)
		SELECT 1 FROM orders GROUP BY (SELECT token FROM secrets)
		SELECT 1 FROM orders HAVING (SELECT token FROM secrets)
		SELECT 1 FROM orders ORDER BY (SELECT token FROM secrets)
		SELECT 1 UNION SELECT 2 ORDER BY (SELECT token FROM secrets)
		SELECT SUM(id) OVER (ORDER BY (SELECT token FROM secrets)) FROM orders
		SELECT SUM(id) OVER w FROM orders WINDOW w AS (PARTITION BY (SELECT token FROM secrets))
		SELECT GROUP_CONCAT(id ORDER BY (SELECT token FROM secrets)) FROM orders
		SELECT CASE WHEN (SELECT 1 FROM secrets) THEN 1 END
		SELECT IF((SELECT 1 FROM secrets), 1, 2)
		SELECT CAST((SELECT token FROM secrets) AS CHAR)
		SELECT DATE_ADD(NOW(), INTERVAL (SELECT 1 FROM secrets) DAY)
		SELECT NOW() + INTERVAL (SELECT 1 FROM secrets) DAY
		SELECT (SELECT token FROM secrets) COLLATE utf8mb4_bin
		SELECT JSON_VALUE((SELECT token FROM secrets), '$')
		SELECT * FROM JSON_TABLE((SELECT token FROM secrets), '$' COLUMNS (a INT PATH '$')) j
		SELECT MATCH (status) AGAINST ((SELECT token FROM secrets)) FROM orders
		SELECT ROW(1, (SELECT 1 FROM secrets)) = ROW(1, 2)
		WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets
		WITH RECURSIVE secrets AS (SELECT * FROM secrets) SELECT * FROM secrets
		WITH a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a
		WITH RECURSIVE a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a
		WITH secrets AS (SELECT 1) SELECT * FROM shop.secrets
		WITH SECRETS AS (SELECT 1) SELECT * FROM secrets
		WITH a AS (WITH secrets AS (SELECT 1) SELECT * FROM secrets) SELECT * FROM secrets
		SELECT * FROM (WITH secrets AS (SELECT 1) SELECT * FROM secrets) x, secrets
		SELECT (WITH secrets AS (SELECT 1) SELECT * FROM secrets), token FROM secrets
		(WITH secrets AS (SELECT 1) SELECT * FROM secrets) UNION SELECT * FROM secrets
		SELECT * FROM secrets UNION (WITH secrets AS (SELECT 1) SELECT * FROM secrets)
		WITH a AS (SELECT 1) SELECT * FROM a WHERE EXISTS (WITH secrets AS (SELECT token FROM secrets) SELECT 1 FROM secrets)
		WITH secrets AS (SELECT 1 AS token) SELECT * FROM (WITH z AS (SELECT token FROM secrets) SELECT * FROM z) x
		WITH RECURSIVE secrets(token) AS (SELECT 'a' UNION SELECT token FROM secrets) SELECT x.* FROM (WITH z AS (SELECT token FROM secrets) SELECT * FROM z) x
		WITH secrets AS (SELECT 1 AS token), b AS (WITH z AS (SELECT token FROM secrets) SELECT * FROM z) SELECT * FROM b
		WITH secrets AS (SELECT 1 AS token) SELECT (WITH z AS (SELECT 1) SELECT token FROM secrets)
		SELECT * FROM information_schema.tables
		SELECT * FROM INFORMATION_SCHEMA.PROCESSLIST
		SELECT * FROM mysql.user
		SELECT * FROM sys.session
		SELECT * FROM performance_schema.threads
		SELECT * FROM orders USE INDEX (PRIMARY), secrets
		SELECT 1e0from secrets
		SELECT `+"`a`"+`from secrets
		SELECT 'a'from secrets
		SELECT "a"from secrets
		SELECT * FROM `+"`dual`"+`
	`)
}

func TestFunctionsThatAreNotListedAreRefused(t *testing.T) {
	g := newGuard(t, Policy{Functions: []string{"tax", "audit.mask"}}, "orders")
	judgeAll(t, g, engine.CodeFunctionNotAllowed, `
		SELECT LOAD_FILE('/etc/passwd')
		SELECT load_file ('/etc/passwd')
		SELECT `+"`load_file`"+`('/etc/passwd')
		SELECT * FROM orders WHERE LOAD_FILE('x')
		SELECT SLEEP(1)
		SELECT BENCHMARK(1, 1)
		SELECT GET_LOCK('a', 1)
		SELECT RELEASE_LOCK('a')
		SELECT RELEASE_ALL_LOCKS()
		SELECT IS_USED_LOCK('a')
		SELECT MASTER_POS_WAIT('a', 1)
		SELECT WAIT_FOR_EXECUTED_GTID_SET('a')
		SELECT MASTER_GTID_WAIT('a')
		SELECT EXTRACTVALUE('a', 'b')
		SELECT UPDATEXML('a', 'b', 'c')
		SELECT LAST_INSERT_ID(1)
		SELECT FOUND_ROWS()
		SELECT ROW_COUNT()
		SELECT CONNECTION_ID()
		SELECT USER()
		SELECT CURRENT_USER
		SELECT CURRENT_USER()
		SELECT SESSION_USER()
		SELECT CURRENT_ROLE()
		SELECT PASSWORD('x')
		SELECT sys_eval('id')
		SELECT sys.ps_thread_id(1)
		SELECT shop.leak()
		SELECT leak()
		SELECT audit.tax(1)
		SELECT mask('x')
		SELECT other.mask('x')
		SELECT shop.concat('a')
		SELECT NEXTVAL(s)
		SELECT NEXT VALUE FOR s
		SELECT LASTVAL(s)
		SELECT SETVAL(s, 1)
		SELECT TIDB_VERSION()
		SELECT STATEMENT_DIGEST('x')
		SELECT PS_CURRENT_THREAD_ID()
		SELECT 1 FROM orders ORDER BY SLEEP(1)
		SELECT 1 LIMIT 1 UNION SELECT SLEEP(1)
		SELECT SUM(id) OVER (PARTITION BY SLEEP(1)) FROM orders
	`)
	judgeAll(t, g, "", `
		SELECT tax(1), TAX(2), shop.tax(3), audit.mask('x'), audit.MASK('y')
	`)
}

func TestConstructsThatAreNotNeededToReadAreRefused(t *testing.T) {
	judgeAll(t, newGuard(t, Policy{Functions: []string{"sleep"}}, "orders"), engine.CodeConstructNotAllowed, `
		SELECT 1 INTO OUTFILE '/tmp/x'
		SELECT 1 INTO DUMPFILE '/tmp/x'
		SELECT id INTO OUTFILE '/tmp/x' FROM orders
		SELECT id FROM orders INTO OUTFILE '/tmp/x' FIELDS TERMINATED BY ','
		SELECT 1 INTO @a
		SELECT @a
		SELECT @a := 1
		SELECT @'a'
		SELECT @"a\"b"
		SELECT @`+"`a`"+`
		SELECT @@datadir
		SELECT @@global.secure_file_priv
		SELECT @@hostname
		SELECT @@`+"`version`"+`
		SELECT @@ version
		SELECT 1 FROM orders FOR UPDATE
		SELECT 1 FROM orders FOR UPDATE NOWAIT
		SELECT 1 FROM orders FOR SHARE SKIP LOCKED
		SELECT 1 FROM orders LOCK IN SHARE MODE
		SELECT * FROM (SELECT 1 FROM orders FOR UPDATE) x
		(SELECT 1 FROM orders FOR UPDATE) UNION SELECT 1
		WITH a AS (SELECT 1 FROM orders FOR UPDATE) SELECT 1 FROM a
		SELECT /*+ SET_VAR(sql_mode='') */ 1
		SELECT /*+ MAX_EXECUTION_TIME(0) */ 1
		SELECT 1 /*! + 1 */
		SELECT 1 /*!50000 + 1 */
		SELECT 1 /*M! + 1 */
		SELECT 1 /*m! + 1 */
		SELECT 1 /*T! + 1 */
		SELECT 1 /*X! + 1 */
		SELECT SQL_CALC_FOUND_ROWS 1 FROM orders
		SELECT HIGH_PRIORITY 1 FROM orders
		SELECT {d '2026-01-01'}
		SELECT {x token} FROM orders
		SELECT \N
		SELECT VALUES(id) FROM orders
		SELECT id FROM orders TABLESAMPLE BERNOULLI (10 PERCENT)
		SELECT id FROM orders AS OF TIMESTAMP '2026-01-01'
		SELECT CAST(id AS UNSIGNED ARRAY) FROM orders
	`)
	judgeAll(t, newGuard(t, Policy{}, "orders"), engine.CodeSyntax, `
		SELECT * FROM orders PROCEDURE ANALYSE()
		SELECT 'a
		SELECT "a
		SELECT `+"`a"+`
		SELECT 1 /* a
		SELECT 1 /* '
		SELECT _big5 0x41
		SELECT _gb18030'x'
		SELECT 1 FROM
		SELECT 1 FROM orders`+"\u00a0"+`x
		SELECT`+"\u2028"+`1
		SELECT 1`+"\x01"+`
	`)
	for _, sql := range []string{
		"", " ", ";", "SELECT 1\x00", "SELECT '\x00'", "SELECT '\xff'", "SELECT `\xc3`",
		"SELECT '" + strings.Repeat("x", engine.MaxSQLBytes) + "'",
		"SELECT " + strings.Repeat("(", 201) + "1" + strings.Repeat(")", 201),
		"SELECT " + strings.Repeat("NOT ", 16000) + "1",
		"SELECT " + strings.Repeat("- ", 30000) + "1",
		"SELECT 1" + strings.Repeat("+1", 30000),
		"SELECT " + strings.Repeat("CASE WHEN 1 THEN ", 3000) + "1" + strings.Repeat(" END", 3000),
	} {
		if _, err := newGuard(t, Policy{}).Judge(sql); err == nil {
			t.Errorf("%.40q is allowed", sql)
		}
	}
	if _, err := newGuard(t, Policy{}).Judge("SELECT " + strings.Repeat("(", 199) + "1" + strings.Repeat(")", 199)); err != nil {
		t.Error(err)
	}
}

func TestASecondStatementIsRefused(t *testing.T) {
	g := newGuard(t, Policy{}, "orders")
	judgeAll(t, g, engine.CodeMultipleStatements, `
		SELECT 1; SELECT 2
		SELECT 1;DROP TABLE orders;
		;SELECT 1
		SELECT 1; (
	`)
	judgeAll(t, g, "", `
		SELECT 1;
		SELECT 1 ;;
		SELECT ';'
		SELECT "a;b", `+"`;`"+` FROM orders
	`)
}

func TestCommentsAreFoundAsTheServerFindsThem(t *testing.T) {
	judgeAll(t, newGuard(t, Policy{}, "orders"), engine.CodeComment, `
		SELECT 1 -- x
		SELECT 1 --
		SELECT 1 # x
		SELECT 1#
		# x
		SELECT/**/1
		SELECT 1 /* x */
		SELECT '\\' -- '
		SELECT '''' # '
		SELECT "\"" # "
		SELECT `+"`\\` -- `"+`
		SELECT 'a' 'b' /* c */
		SELECT 1; -- x
	`)
	judgeAll(t, newGuard(t, Policy{SQLMode: "NO_BACKSLASH_ESCAPES"}, "orders"), engine.CodeComment, `
		SELECT '\' -- '
		SELECT "\" # "
	`)
	judgeAll(t, newGuard(t, Policy{SQLMode: "ANSI_QUOTES"}, "orders"), engine.CodeConstructNotAllowed, `
		SELECT "a\" , id FROM orders WHERE status = "
		SELECT "a\"b" FROM orders
	`)
}

func TestStrippedStatements(t *testing.T) {
	for _, mode := range []string{"", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI,NO_BACKSLASH_ESCAPES"} {
		g := newGuard(t, Policy{Strip: true, SQLMode: mode}, "orders", "customers")
		for _, sql := range []string{
			"SELECT 1 -- x", "SELECT id # a\nFROM orders", "/* a */ SELECT 'a\\\\''b' /* b */ FROM orders",
			"SELECT id FROM orders -- ; DELETE FROM orders", "SELECT status LIKE 'a\\_%' /* x */ FROM orders",
			"SELECT `a``b`, 'it''s' /* x */ FROM orders", "SELECT * FROM orders WHERE id = ? -- x",
		} {
			v, err := g.Judge(sql)
			if err != nil {
				t.Errorf("%s: %q: %v", mode, sql, err)
				continue
			}
			l, err := scan(v.SQL, g.modes)
			if err != nil || l.comment >= 0 {
				t.Errorf("%s: %q runs %q: %v", mode, sql, v.SQL, err)
			}
		}
	}
	g := newGuard(t, Policy{Strip: true}, "orders")
	judgeAll(t, g, engine.CodeTableNotAllowed, `
		SELECT 1 /* */ FROM secrets
		SELECT/**/token/**/FROM/**/secrets
	`)
	judgeAll(t, g, engine.CodeConstructNotAllowed, `
		SELECT 1 /*! FROM secrets */
		SELECT /*+ SET_VAR(a=1) */ 1 -- x
	`)
	judgeAll(t, g, engine.CodeMultipleStatements, `SELECT 1 /* */ ; /* */ SELECT 2`)
}

func TestModesChangeHowAStatementReads(t *testing.T) {
	plain, quotes := newGuard(t, Policy{}, "orders"), newGuard(t, Policy{SQLMode: "ANSI_QUOTES"}, "orders")
	judgeAll(t, quotes, "", `SELECT "id" FROM "orders"`)
	judgeAll(t, quotes, engine.CodeTableNotAllowed, `SELECT * FROM "secrets"`)
	judgeAll(t, plain, engine.CodeSyntax, `SELECT * FROM "orders"`)
	judgeAll(t, newGuard(t, Policy{SQLMode: "NO_BACKSLASH_ESCAPES"}, "orders"), engine.CodeTableNotAllowed, `SELECT '\', token FROM secrets WHERE 'a' = 'a'`)
	judgeAll(t, plain, "", `SELECT '\', token FROM secrets WHERE ' = 'a'`)
	v, err := newGuard(t, Policy{SQLMode: "STRICT_TRANS_TABLES,PIPES_AS_CONCAT"}, "orders").Judge("SELECT 'a' || 'b'")
	if err != nil || !slices.Equal(v.Functions, []string{"concat"}) {
		t.Errorf("%+v, %v", v, err)
	}
	for _, mode := range []string{"ORACLE", "MSSQL", "HIGH_NOT_PRECEDENCE", "something"} {
		if _, err := New(Policy{SQLMode: mode}); err == nil {
			t.Errorf("%s is taken", mode)
		}
	}
}

func TestNamesAreFoldedOnlyWhereTheServerFoldsThem(t *testing.T) {
	g := newGuard(t, Policy{FoldNames: true}, "Orders", "Audit.log")
	judgeAll(t, g, "", `
		SELECT * FROM ORDERS
		SELECT * FROM SHOP.orders
		SELECT * FROM audit.LOG
		WITH SECRETS AS (SELECT 1) SELECT * FROM secrets
	`)
	judgeAll(t, g, engine.CodeTableNotAllowed, `
		SELECT * FROM secrets
		SELECT * FROM `+"`orderſ`"+`
		SELECT * FROM audit.orders
	`)
}

func TestAllTablesAreThoseOfOneDatabase(t *testing.T) {
	g := newGuard(t, Policy{All: true})
	judgeAll(t, g, "", `
		SELECT * FROM anything JOIN shop.other
	`)
	judgeAll(t, g, engine.CodeTableNotAllowed, `
		SELECT * FROM audit.log
		SELECT * FROM mysql.user
		SELECT * FROM information_schema.tables
	`)
	for _, p := range []Policy{
		{All: true},
		{Tables: []engine.Name{{Name: "orders"}}},
		{Functions: []string{""}},
	} {
		if _, err := New(p); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

func TestAVerdictSaysWhatIsRead(t *testing.T) {
	g := newGuard(t, Policy{}, "orders", "audit.log")
	const sql = "WITH a AS (SELECT id FROM orders) SELECT COUNT(*), UPPER('x') FROM a, audit.log, orders o WHERE o.id = ? AND ? "
	for range 2 { // the second is from the cache
		v, err := g.Judge(sql)
		if err != nil {
			t.Fatal(err)
		}
		if v.SQL != sql || v.Params != 2 ||
			!slices.Equal(v.Tables, []engine.Name{{Schema: "audit", Name: "log"}, {Schema: "shop", Name: "orders"}}) ||
			!slices.Equal(v.Functions, []string{"count", "upper"}) {
			t.Errorf("%+v", v)
		}
		v.Tables[0], v.Functions[0] = engine.Name{}, "" // is the caller's own
	}
}
