// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const described = `
CREATE TABLE regions (code text PRIMARY KEY);
CREATE TABLE hidden (id int PRIMARY KEY);
CREATE TABLE places (
	id bigint, region text NOT NULL REFERENCES regions, h int REFERENCES hidden, label varchar(10) DEFAULT 'x', PRIMARY KEY (id, region)
);
CREATE UNIQUE INDEX by_label ON places (label, lower(region));
COMMENT ON TABLE places IS 'where things are';
COMMENT ON COLUMN places.label IS 'what it says';
INSERT INTO regions VALUES ('eu');
ANALYZE regions;
CREATE SCHEMA other;
CREATE TABLE other.places (id int);
CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM regions;
CREATE TABLE "other.places" (id int);
`

func TestTablesAreThoseThatAreListed(t *testing.T) {
	name := database(t, described)
	names := func(tables ...string) (list []string) {
		listed, err := open(t, name, Options{Tables: tables}).Tables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range listed {
			list = append(list, engine.Name{Schema: l.Schema, Name: l.Name}.String()+" "+string(l.Kind))
		}
		return list
	}
	for _, c := range []struct{ tables, want []string }{
		{nil, nil},
		{[]string{"places", "absent"}, []string{"public.places table"}},
		{[]string{"other.places"}, []string{"other.places table"}},
		{[]string{`"other.places"`, "counted"}, []string{"public.counted view", `public."other.places" table`}},
		{[]string{"*"}, []string{"other.places table", "public.counted view", "public.hidden table", `public."other.places" table`, "public.places table", "public.regions table"}},
	} {
		if got := names(c.tables...); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q", c.tables, got)
		}
	}
}

func TestATableIsDescribed(t *testing.T) {
	d := open(t, database(t, described), Options{Tables: []string{"places", "regions"}})
	got, err := d.Describe(t.Context(), engine.Name{Name: "places"})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(got)
	const want = `{"Schema":"public","Name":"places","Kind":"table","Comment":"where things are","RowsEstimate":null,` +
		`"Columns":[{"Name":"id","Type":"bigint","Nullable":false,"Default":"","Comment":""},{"Name":"region","Type":"text","Nullable":false,"Default":"","Comment":""},` +
		`{"Name":"h","Type":"integer","Nullable":true,"Default":"","Comment":""},{"Name":"label","Type":"character varying(10)","Nullable":true,"Default":"'x'::character varying","Comment":"what it says"}],` +
		`"PrimaryKey":["id","region"],"ForeignKeys":[{"Columns":["region"],"Table":{"Schema":"public","Name":"regions"},"References":["code"]}],` +
		`"Indexes":[{"Name":"by_label","Columns":["label","lower(region)"],"Unique":true},{"Name":"places_pkey","Columns":["id","region"],"Unique":true}]}`
	if string(raw) != want {
		t.Errorf("%s", raw)
	}
	if got, err = d.Describe(t.Context(), engine.Name{Schema: "public", Name: "regions"}); err != nil || got.RowsEstimate == nil || *got.RowsEstimate != 1 {
		t.Errorf("%v %v", got, err)
	}
	_, hidden := d.Describe(t.Context(), engine.Name{Name: "hidden"})
	_, absent := d.Describe(t.Context(), engine.Name{Name: "absent"})
	if code(hidden) != engine.CodeTableNotAllowed || strings.ReplaceAll(hidden.Error(), "hidden", "absent") != absent.Error() {
		t.Errorf("%v, but %v", hidden, absent)
	}
}

func TestAPlanIsTheServers(t *testing.T) {
	d := open(t, database(t, described), Options{Tables: []string{"regions"}})
	one := engine.Statement{SQL: "SELECT * FROM regions WHERE code = $1", Params: []engine.Param{{Kind: engine.ParamText, Text: "eu"}}}
	plan, err := d.Explain(t.Context(), one, false)
	if err != nil || !json.Valid(plan) || !strings.Contains(string(plan), `"Node Type"`) || strings.Contains(string(plan), "Actual") {
		t.Errorf("%s %v", plan, err)
	}
	if plan, err = d.Explain(t.Context(), one, true); err != nil || !strings.Contains(string(plan), "Actual Rows") {
		t.Errorf("%s %v", plan, err)
	}
	sample, err := d.Sample(t.Context(), engine.Name{Name: "regions"}, 3)
	if err != nil || !strings.Contains(string(sample), `[{"code":"eu"}]`) {
		t.Errorf("%s %v", sample, err)
	}
}

func TestARoleThatMayDoMoreIsTold(t *testing.T) {
	name := database(t, described)
	var warned []string
	o := Options{Limits: testLimits, Tables: []string{"places"}, Warn: func(s string) { warned = append(warned, s) }}
	d := open(t, name, o)
	if !slices.Contains(warned, "the role may read 5 tables that are not in allowed_tables") {
		t.Errorf("%q", warned)
	}
	if h := d.Health(t.Context()); !slices.Equal(h.Findings, warned) || h.Version == "" || h.Open != 1 || h.Max != 4 {
		t.Errorf("%+v", h)
	}
	o.RequireReadonlyRole = "refuse"
	for user, want := range map[string]string{"reader": "5 tables that are not", "postgres": "superuser"} {
		if _, err := openWith(t.Context(), dsn(user, name), o, unguarded); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", user, err)
		}
	}
	o.RequireReadonlyRole = "off"
	warned = nil
	if open(t, name, o); warned != nil {
		t.Errorf("%q", warned)
	}
}

// The server sees what names hide.
func TestTheServerTellsWhatAStatementMeans(t *testing.T) {
	d := open(t, database(t, ""), Options{Tables: []string{"orders", "v_paid"}, VerifyServer: true})
	for sql, want := range map[string]string{
		"SELECT count(*) FROM orders":                         "",
		"SELECT count(*) FROM v_paid":                         "",
		"SELECT row_number() OVER () FROM orders":             "",
		"SELECT count(*) FROM secrets":                        engine.CodeTableNotAllowed,
		"SELECT count(*) FROM v_leak":                         engine.CodeTableNotAllowed,
		"SELECT o.risky FROM orders o":                        engine.CodeFunctionNotAllowed,
		"SELECT leak()":                                       engine.CodeFunctionNotAllowed,
		"SELECT 1 <<<>>> 2":                                   engine.CodeFunctionNotAllowed,
		"SELECT random()":                                     engine.CodeFunctionNotAllowed, // volatile, and no guard named it
		"WITH secrets AS (TABLE secrets) SELECT FROM secrets": engine.CodeTableNotAllowed,
	} {
		if raw, err := query(t, d, sql); code(err) != want || strings.Contains(raw, canary) {
			t.Errorf("%s: %s %v", sql, raw, err)
		}
	}
}
