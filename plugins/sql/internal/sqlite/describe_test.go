// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const describedSchema = `
	CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x');
	CREATE TABLE hidden(id INTEGER PRIMARY KEY, token TEXT);
	CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INT REFERENCES customers, secret INT REFERENCES hidden(id), total REAL, twice AS (total * 2));
	CREATE UNIQUE INDEX by_customer ON orders(customer, lower("total, or so"), total DESC);
	CREATE VIEW open AS SELECT id, total FROM orders;
	CREATE VIEW inner_view AS SELECT id FROM hidden;
	CREATE VIEW outer_view AS SELECT id FROM inner_view;
	CREATE VIEW broken AS SELECT * FROM nowhere;
	INSERT INTO customers VALUES (1, 'Ann'); INSERT INTO hidden VALUES (1, 'CANARY-7f3a'); INSERT INTO orders VALUES (1, 1, 1, 2.5), (2, 1, 1, 3.5);`

func described(t *testing.T, tables ...string) *DB {
	t.Helper()
	return open(t, newFile(t, strings.ReplaceAll(describedSchema, `lower("total, or so")`, `max(total, 0)`)), testLimits, tables...)
}

func TestATableIsDescribedWithoutWhatIsNotListed(t *testing.T) {
	d := described(t, "orders", "customers", "open", "broken", "absent")
	got, err := d.Describe(t.Context(), engine.Name{Name: "ORDERS"})
	if err != nil {
		t.Fatal(err)
	}
	want := &engine.Description{
		Table: engine.Table{Name: "orders", Kind: engine.KindTable},
		Columns: []engine.Column{
			{Name: "id", Type: "INTEGER"},
			{Name: "customer", Type: "INT", Nullable: true},
			{Name: "secret", Type: "INT", Nullable: true},
			{Name: "total", Type: "REAL", Nullable: true},
			{Name: "twice", Nullable: true},
		},
		PrimaryKey:  []string{"id"},
		ForeignKeys: []engine.ForeignKey{{Columns: []string{"customer"}, Table: engine.Name{Name: "customers"}, References: []string{"id"}}},
		Indexes:     []engine.Index{{Name: "by_customer", Columns: []string{"customer", "max(total, 0)", "total"}, Unique: true}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	customers, err := d.Describe(t.Context(), engine.Name{Schema: "main", Name: "customers"})
	if err != nil || customers.Columns[1] != (engine.Column{Name: "name", Type: "TEXT", Default: "'x'"}) {
		t.Errorf("%+v %v", customers, err)
	}
	view, err := d.Describe(t.Context(), engine.Name{Name: "open"})
	if err != nil || view.Kind != engine.KindView || len(view.Columns) != 2 {
		t.Errorf("%+v %v", view, err)
	}
	if _, err := d.Describe(t.Context(), engine.Name{Name: "broken"}); code(err) != engine.CodeDBError || strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a broken view: %v", err)
	}
	if _, err := d.Describe(t.Context(), engine.Name{Name: "absent"}); code(err) != engine.CodeDBError {
		t.Errorf("listed, but absent: %v", err)
	}
}

func TestDescribingCannotTellAnUnlistedTableFromAMissingOne(t *testing.T) {
	d := described(t, "orders")
	for _, name := range []engine.Name{
		{Name: "hidden"},
		{Name: "hiddem"},
		{Name: "sqlite_schema"},
		{Schema: "temp", Name: "orders"},
		{Name: `orders"); SELECT`},
		{Name: "by_customer"},
		{Name: "json_each"},
		{Name: "a\x00b"},
		{},
	} {
		_, described := d.Describe(t.Context(), name)
		_, sampled := d.Sample(t.Context(), name, 3)
		for _, err := range []error{described, sampled} {
			if code(err) != engine.CodeTableNotAllowed || strings.ReplaceAll(err.Error(), name.String(), "x") != strings.ReplaceAll(engine.TableNotAllowed(name.String()).Error(), name.String(), "x") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

func TestASampleIsTheFirstRows(t *testing.T) {
	d := described(t, "orders")
	got, err := d.Sample(t.Context(), engine.Name{Name: "orders"}, 1)
	var result struct {
		Rows      []json.RawMessage
		Truncated bool
	}
	if err != nil || json.Unmarshal(got, &result) != nil || len(result.Rows) != 1 || !result.Truncated {
		t.Errorf("%s %v", got, err)
	}
}

func TestExplainingTellsNothingOfWhatIsNotListed(t *testing.T) {
	d := described(t, "orders", "open", "outer_view")
	plan, err := d.Explain(t.Context(), engine.Statement{SQL: "SELECT * FROM open WHERE id = ?", Params: []engine.Param{{}}}, false)
	var lines []string
	if err != nil || json.Unmarshal(plan, &lines) != nil || len(lines) == 0 || !strings.Contains(lines[0], "orders") {
		t.Errorf("%s %v", plan, err)
	}
	for _, c := range []struct{ sql, code string }{
		{"SELECT * FROM outer_view", engine.CodeConstructNotAllowed},
		{"SELECT count(*) FROM outer_view", engine.CodeConstructNotAllowed},
		{"WITH x AS (SELECT id FROM outer_view) SELECT 1 FROM x JOIN orders USING (id)", engine.CodeConstructNotAllowed},
		{"SELECT * FROM hidden", engine.CodeTableNotAllowed},
		{"DELETE FROM orders", engine.CodeNotSelect},
		{"QUERY PLAN SELECT 1", engine.CodeNotSelect},
		{"SELECT ?", engine.CodeBindCount},
	} {
		plan, err := d.Explain(t.Context(), engine.Statement{SQL: c.sql}, false)
		if code(err) != c.code || plan != nil {
			t.Errorf("%s: %s %v", c.sql, plan, err)
		}
	}
	if _, err := d.Explain(t.Context(), engine.Statement{SQL: "SELECT 1"}, true); code(err) != engine.CodeConstructNotAllowed {
		t.Errorf("analyze: %v", err)
	}
}

func TestCheckingSaysWhatAStatementWouldReadAndCall(t *testing.T) {
	d := described(t, "orders", "open", "outer_view")
	for _, c := range []struct {
		sql       string
		tables    []engine.Name
		functions []string
		params    int
	}{
		{"SELECT upper(id), ? FROM orders", []engine.Name{{Name: "orders"}}, []string{"upper"}, 1},
		{"WITH o AS (SELECT abs(total) t FROM orders) SELECT sum(t) FROM o", []engine.Name{{Name: "orders"}}, []string{"abs", "sum"}, 0},
		{"SELECT id FROM outer_view", []engine.Name{{Name: "outer_view"}}, nil, 0},
		{"SELECT value FROM json_each(?)", nil, []string{"json_each"}, 1},
	} {
		v, err := d.Check(t.Context(), c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if !slices.Equal(v.Tables, c.tables) || !slices.Equal(v.Functions, c.functions) || v.Params != c.params || v.SQL != c.sql {
			t.Errorf("%s: %+v", c.sql, v)
		}
	}
	if v, err := d.Check(t.Context(), "SELECT token FROM hidden"); code(err) != engine.CodeTableNotAllowed || v != nil {
		t.Errorf("%v %v", v, err)
	}
}

func TestAnOperatorMayAddFunctions(t *testing.T) {
	path := newFile(t, `CREATE TABLE orders(id)`)
	d, err := Open(t.Context(), path, Options{Tables: []string{"orders"}, Functions: []string{"Changes"}, Limits: testLimits})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Query(t.Context(), engine.Statement{SQL: "SELECT changes()"}); err != nil {
		t.Error(err)
	}
	if _, err := d.Query(t.Context(), engine.Statement{SQL: "SELECT total_changes()"}); code(err) != engine.CodeFunctionNotAllowed {
		t.Error(err)
	}
}

func TestHealthSaysWhichSQLiteItIs(t *testing.T) {
	h := described(t, "orders").Health(t.Context())
	if h.Engine != "SQLite" || !strings.HasPrefix(h.Version, "3.") || h.Open != 1 || h.Busy != 0 || h.Max != testLimits.Connections {
		t.Errorf("%+v", h)
	}
}
