// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"strings"
	"testing"
)

// An unlisted table must look exactly like one that does not exist, whatever
// is done with its name: the same answer, the same error, letter for letter.
func TestAnUnlistedTableLooksLikeAMissingOne(t *testing.T) {
	templates := []string{
		"SELECT * FROM %s",
		"select * from %s limit 1;",
		"SELECT nocol FROM %s",
		"SELECT token, id FROM %s",
		"SELECT count(*) FROM %s",
		"SELECT count(*) FROM orders, %s",
		"SELECT rowid FROM %s",
		"SELECT %s.token FROM orders",
		"SELECT %s.* FROM orders",
		"SELECT id AS %s FROM orders",
		"SELECT id %s FROM orders",
		"SELECT orders.id FROM orders %s",
		"SELECT %s.id FROM orders AS %s",
		"SELECT '%s'",
		"SELECT id FROM orders WHERE status = '%s'",
		"SELECT id FROM orders WHERE status = \"%s\"",
		"SELECT * FROM %s(1)",
		"SELECT * FROM main.%s",
		"SELECT * FROM MAIN.%s",
		"SELECT * FROM temp.%s",
		"SELECT * FROM evil.%s",
		"SELECT * FROM %s.orders",
		"SELECT nocol FROM main.%s",
		"SELECT 1 WHERE 1 IN %s",
		"SELECT 1 WHERE (1, 2) IN main.%s",
		"SELECT 1 WHERE 1 IN (%s)",
		"SELECT (SELECT 1 FROM %s)",
		"SELECT (SELECT nocol FROM %s) FROM orders",
		"SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM %s WHERE bad = 1)",
		"SELECT * FROM orders JOIN %s USING (nocol)",
		"SELECT * FROM orders NATURAL JOIN %s",
		"SELECT * FROM orders LEFT JOIN %s ON %s.id = orders.id",
		"SELECT * FROM orders INDEXED BY %s",
		"SELECT * FROM %s INDEXED BY nothing",
		"SELECT id FROM orders ORDER BY %s",
		"SELECT id FROM orders GROUP BY %s.id",
		"SELECT %s(1)",
		"SELECT %s()",
		"SELECT count(*) OVER %s FROM orders WINDOW %s AS (ORDER BY id)",
		"SELECT id COLLATE %s FROM orders",
		"SELECT CAST(id AS %s) FROM orders",
		"VALUES (%s)",
		"WITH %s AS (SELECT id FROM orders) SELECT * FROM %s",
		"WITH %s AS (SELECT id FROM orders) SELECT count(*) FROM %s",
		"WITH %s(a) AS (VALUES (1)) SELECT 1 FROM %s, %s AS b",
		"WITH %s AS (SELECT * FROM %s) SELECT * FROM %s",
		"WITH RECURSIVE %s(a) AS (VALUES (1) UNION ALL SELECT a + 1 FROM %s WHERE a < 3) SELECT a FROM %s",
		"WITH x AS (SELECT * FROM %s) SELECT 1",
		"WITH x AS (SELECT * FROM %s) SELECT * FROM x",
		"WITH x AS (SELECT nocol FROM %s) SELECT count(*) FROM x",
		"WITH orders AS (SELECT * FROM %s) SELECT * FROM orders",
		"SELECT (WITH %s AS (SELECT 1) SELECT count(*) FROM %s), (SELECT count(*) FROM %s)",
		"SELECT (WITH %s AS (SELECT 1 AS a) SELECT a FROM %s), id FROM orders",
		"SELECT * FROM orders WHERE id > (SELECT max(id) FROM %s))",
		"SELECT * FROM %s WHERE",
		"SELECT * FROM %s UNION SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
		"SELECT 1, 2 UNION SELECT * FROM %s",
		"SELECT * FROM orders, nothere, %s",
		"SELECT * FROM %s, nothere",
		"SELECT sqlite_log(1, 2) FROM %s",
		"SELECT nosuchfunction(id) FROM %s",
		"SELECT * FROM json_each((SELECT token FROM %s))",
		"DELETE FROM %s",
		"WITH a AS (SELECT 1) INSERT INTO %s VALUES (1)",
		"WITH a AS (SELECT 1) DELETE FROM %s",
		"SELECT * FROM v_paid, %s",
		"SELECT count(*) FROM v_paid, %s",
	}
	path := fixture(t)
	write(t, path, `CREATE VIEW v_orders AS SELECT id FROM hidden_base; CREATE TABLE hidden_base(id INT)`)
	d := open(t, path, testLimits, "orders", "v_paid", "v_orders")
	quotes := []struct{ open, close string }{{"", ""}, {`"`, `"`}, {"`", "`"}, {"[", "]"}, {"'", "'"}}
	for _, pair := range []struct{ unlisted, missing string }{
		{"secrets", "sectors"},
		{"SeCrEtS", "SeCtOrS"},
		{"v_leak", "v_lake"},
		{"docs", "dogs"},
		{"docs_content", "docs_contend"},
		{"customers", "custodian"},
		{"hidden_base", "hidden_bass"},
	} {
		for _, template := range templates {
			for _, q := range quotes {
				ask := func(name string) string {
					text, err := query(t, d, strings.ReplaceAll(template, "%s", q.open+name+q.close))
					if err != nil {
						text = err.Error()
					}
					if strings.Contains(text, canary) {
						t.Fatalf("%s with %s: the canary is in the answer: %s", template, name, text)
					}
					return strings.ReplaceAll(text, name, "NAME")
				}
				unlisted, missing := ask(pair.unlisted), ask(pair.missing)
				if unlisted != missing {
					t.Errorf("%s with %s%s%s\n%s: %s\n%s: %s", template, q.open, "NAME", q.close, pair.unlisted, unlisted, pair.missing, missing)
				}
			}
		}
	}
}
