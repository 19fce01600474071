// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// What somebody adds to the schema is known to the guard from the next
// connection on.
func TestTheGuardKnowsWhatTheSchemaHas(t *testing.T) {
	name := database(t, "CREATE TABLE orders (id int); INSERT INTO orders VALUES (1); CREATE TABLE secrets (token text); INSERT INTO secrets VALUES ('CANARY')")
	d := guarded(t, name, Options{Tables: []string{"orders"}})
	if raw, err := query(t, d, "SELECT lower('X') AS x, o.id FROM orders o"); err != nil || !strings.Contains(raw, `{"x":"x","id":1}`) {
		t.Fatalf("%s %v", raw, err)
	}
	admin(t, name, `
		CREATE FUNCTION spill(orders) RETURNS text LANGUAGE sql AS 'SELECT token FROM secrets';
		CREATE FUNCTION lower(orders) RETURNS text LANGUAGE sql AS 'SELECT token FROM secrets';
		CREATE FUNCTION plus(orders, int) RETURNS text LANGUAGE sql AS 'SELECT token FROM secrets';
		CREATE OPERATOR + (LEFTARG = orders, RIGHTARG = int, FUNCTION = plus);
		GRANT SELECT ON secrets TO reader`)
	d.pool.Flush()
	if _, err := query(t, d, "SELECT id FROM orders"); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"SELECT o.spill FROM orders o", "SELECT (o).spill FROM orders o", "SELECT lower(o) FROM orders o", "SELECT o.lower FROM orders o", "SELECT o + 1 FROM orders o"} {
		if raw, err := query(t, d, sql); err == nil || strings.Contains(raw, canary) {
			t.Errorf("%s: %s %v", sql, raw, err)
		}
	}
}

func TestWhatIsRunIsWhatWasJudged(t *testing.T) {
	d := guarded(t, database(t, ""), Options{Tables: []string{"orders"}, Strip: true, VerifyServer: true})
	raw, err := query(t, d, "SELECT id /* , (SELECT token FROM secrets) */ FROM orders ORDER BY id LIMIT 1 -- end")
	if err != nil || !strings.Contains(raw, `"rows":[{"id":1}]`) {
		t.Errorf("%s %v", raw, err)
	}
	for _, name := range []engine.Name{{Name: "secrets"}, {Name: "absent"}, {Schema: "pg_catalog", Name: "pg_class"}, {Schema: "evil", Name: "orders"}} {
		if raw, err := d.Sample(t.Context(), name, 3); code(err) != engine.CodeTableNotAllowed {
			t.Errorf("%v: %s %v", name, raw, err)
		}
	}
	if plan, err := d.Explain(t.Context(), engine.Statement{SQL: "SELECT token FROM secrets"}, true); code(err) != engine.CodeTableNotAllowed {
		t.Errorf("%s %v", plan, err)
	}
	if _, err := d.Check(t.Context(), "ANALYZE orders"); code(err) != engine.CodeNotSelect {
		t.Error(err)
	}
}

func TestAllowedFunctionsAreNames(t *testing.T) {
	name := database(t, "")
	_, err := Open(t.Context(), dsn("reader", name), Options{Limits: testLimits, Functions: []string{"a.b.c"}})
	if e, ok := errors.AsType[*OpenError](err); !ok || !strings.Contains(e.Summary, "allowed_functions") {
		t.Error(err)
	}
	d := guarded(t, name, Options{Tables: []string{"orders"}, Functions: []string{"leak"}, VerifyServer: true})
	if raw, err := query(t, d, "SELECT leak() AS x"); err != nil || !strings.Contains(raw, canary) {
		t.Errorf("the operator allowed it: %s %v", raw, err)
	}
}

// A view may be read without what lies under it, so nothing names that either.
func TestAPlanThatNamesWhatIsNotListedIsNotShown(t *testing.T) {
	d := guarded(t, database(t, ""), Options{Tables: []string{"orders", "v_leak"}})
	plan, err := d.Explain(t.Context(), engine.Statement{SQL: "SELECT id FROM orders"}, false)
	if err != nil || !strings.Contains(string(plan), `"Relation Name": "orders"`) {
		t.Errorf("%s, %v", plan, err)
	}
	plan, err = d.Explain(t.Context(), engine.Statement{SQL: "SELECT o.id FROM orders o JOIN v_leak v ON true"}, false)
	if code(err) != engine.CodeConstructNotAllowed || strings.Contains(err.Error(), "secrets") {
		t.Errorf("%s, %v", plan, err)
	}
}
