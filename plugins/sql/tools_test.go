// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

func opened(t *testing.T) *database {
	t.Helper()
	d, err := openDatabase(t.Context(), defaults("sqlite:"+shop(t), "orders", "totals"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestTablesAreListedByPages(t *testing.T) {
	d := opened(t)
	var names []string
	in := tablesIn{Limit: 1}
	for {
		out, err := d.listTables(t.Context(), in)
		if err != nil || len(out.Tables) != 1 {
			t.Fatalf("%+v %v", out, err)
		}
		names = append(names, out.Tables[0].Name)
		if in.Cursor = out.NextCursor; in.Cursor == "" {
			break
		}
	}
	if !slices.Equal(names, []string{"orders", "totals"}) {
		t.Errorf("%v", names)
	}
	if out, err := d.listTables(t.Context(), tablesIn{Pattern: "T?TA*"}); err != nil || len(out.Tables) != 1 {
		t.Errorf("%+v %v", out, err)
	}
	for _, cursor := range []string{"!", "bm9uZQ"} {
		if _, err := d.listTables(t.Context(), tablesIn{Cursor: cursor}); codeOf(err) != "cursor" {
			t.Errorf("%q: %v", cursor, err)
		}
	}
}

func TestAPatternFits(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true},
		{"", "a", false},
		{"a*c", "abbc", true},
		{"a*c", "abbd", false},
		{"?", "ä", true},
		{"a?", "a", false},
		{"*a*b*", "xxaxxbxx", true},
		{"[ab]", "a", false},
		{strings.Repeat("*a", 50), strings.Repeat("a", 40), false},
	} {
		if fits(c.pattern, c.s) != c.want {
			t.Errorf("%q %q", c.pattern, c.s)
		}
	}
}

func TestTheSchemaIsSearchedWhereItMayBeRead(t *testing.T) {
	d := opened(t)
	out, err := d.searchSchema(t.Context(), searchIn{Text: "TOTAL", Limit: 20})
	want := []matchOut{{Table: "totals"}, {Table: "orders", Column: "total", Type: "TEXT"}, {Table: "totals", Column: "total", Type: "TEXT"}}
	if err != nil || out.Truncated || !slices.Equal(out.Matches, want) {
		t.Errorf("%+v %v", out, err)
	}
	if out, err := d.searchSchema(t.Context(), searchIn{Text: "total", Kind: "column", Limit: 1}); err != nil || len(out.Matches) != 1 || !out.Truncated {
		t.Errorf("%+v %v", out, err)
	}
	if out, err := d.searchSchema(t.Context(), searchIn{Text: "token", Limit: 20}); err != nil || len(out.Matches) != 0 {
		t.Errorf("%+v %v", out, err)
	}
}

func TestCheckingGivesTheRefusalAsAnAnswer(t *testing.T) {
	d := opened(t)
	for sql, want := range map[string]string{
		"SELECT upper(total) FROM orders WHERE id = ?": `{"allowed":true,"tables":["orders"],"functions":["upper"],"params":1}`,
		"SELECT * FROM secrets":                        `"code":"table_not_allowed"`,
		"DROP TABLE orders":                            `"code":"not_select"`,
		"SELECT FROM":                                  `"code":"syntax"`,
		"SELECT missing FROM orders":                   `"code":"db_error"`,
	} {
		out, err := d.checkQuery(t.Context(), checkIn{sql})
		if got, _ := json.Marshal(out); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s %v", sql, got, err)
		}
	}
}

func TestAResourceOfAnUnlistedTableIsNotThere(t *testing.T) {
	d := opened(t)
	if out, err := d.tableResource(t.Context(), tableURI{"orders"}); err != nil || len(out.Columns) != 2 {
		t.Errorf("%+v %v", out, err)
	}
	for _, name := range []string{"secrets", "nothing", `"`, "../orders"} {
		if _, err := d.tableResource(t.Context(), tableURI{name}); codeOf(err) != "resource_not_found" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestANamedQueryIsATool(t *testing.T) {
	config := `{"dsn": "sqlite:` + shop(t) + `", "allowed_tables": ["orders"], "queries": {"order": {"description": "One order.",
		"sql": "SELECT total, ? AS note FROM orders WHERE id = ?", "rows_as": "csv",
		"params": [{"name": "note", "type": "string", "default": "'; DROP TABLE orders; --"}, {"name": "id", "type": "integer", "required": true, "min": 1}]}}}`
	out, err := byHand(t, "call", "--config", config, "order", `{"id": 1}`)
	if err != nil || !strings.Contains(out, `"csv": "1.10,'; DROP TABLE orders; --\n"`) {
		t.Errorf("%v: %s", err, out)
	}
	for _, args := range []string{`{}`, `{"id": 0}`, `{"id": "1"}`, `{"id": 1, "sql": "x"}`, `{"id": 1.5}`} {
		if out, err := byHand(t, "call", "--config", config, "order", args); err == nil {
			t.Errorf("%s: %s", args, out)
		}
	}
}

func TestANamedQueryIsJudgedWhenThePluginOpens(t *testing.T) {
	c := defaults("sqlite:"+shop(t), "orders")
	c.Queries = map[string]namedQuery{
		"a": {SQL: "SELECT * FROM secrets"},
		"b": {SQL: "SELECT ? FROM orders"},
		"c": {SQL: "SELECT 1; SELECT 2"},
	}
	_, err := openDatabase(t.Context(), c)
	for _, at := range []string{"/queries/a/sql", "table_not_allowed", "/queries/b/params", "/queries/c/sql", "multiple_statements"} {
		if err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("nothing of %s in %v", at, err)
		}
	}
}

func TestAQueryThatCannotBeAToolIsAFault(t *testing.T) {
	one := 1.0
	for at, q := range map[string]namedQuery{
		"/queries/x/params/1/name":    {Params: []queryParam{{Name: "a", Type: "string"}, {Name: "a", Type: "string"}}},
		"/queries/x/params/0":         {Params: []queryParam{{Name: "a", Type: "string", Min: &one}}},
		"/queries/x/params/0/default": {Params: []queryParam{{Name: "a", Type: "integer", Default: json.RawMessage("1.5")}}},
		"/queries/x/params/0/enum/0":  {Params: []queryParam{{Name: "a", Type: "boolean", Enum: []json.RawMessage{json.RawMessage("1")}}}},
	} {
		var fault *toolwharf.ConfigError
		if err := checkQueries(map[string]namedQuery{"x": q}); !errors.As(err, &fault) || fault.Pointer != at {
			t.Errorf("%s: %v", at, err)
		}
	}
	err := checkQueries(map[string]namedQuery{"query": {}, "a/b": {}})
	for _, at := range []string{"/queries/query", "/queries/a~1b"} {
		if err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("nothing of %s in %v", at, err)
		}
	}
}

func TestSQLiteRefusesWhatItCannotDo(t *testing.T) {
	c := defaults("sqlite:x.db", "orders")
	c.Comments, c.AllowExplainAnalyze, c.AllowedFunctions = "strip", true, []string{"changes", "Load_Extension", ""}
	_, err := check(t.Context(), c)
	for _, at := range []string{"/comments", "/allow_explain_analyze", "/allowed_functions/1", "/allowed_functions/2"} {
		if err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("nothing of %s in %v", at, err)
		}
	}
}

func TestTheOtherToolsAnswerByHand(t *testing.T) {
	config := `{"dsn": "sqlite:` + shop(t) + `", "allowed_tables": ["orders"]}`
	for _, c := range []struct{ tool, args, want string }{
		{"describe_table", `{"table": "orders"}`, `"primary_key"`},
		{"sample_table", `{"table": "orders", "n": 1}`, `"truncated_by": "rows"`},
		{"explain", `{"sql": "SELECT * FROM orders WHERE id = ?", "params": [1]}`, "SEARCH orders"},
		{"health", `{}`, `"SQLite"`},
		{"query", `{"sql": "SELECT total FROM orders", "rows_as": "arrays"}`, `"1.10"`},
	} {
		out, err := byHand(t, "call", "--config", config, c.tool, c.args)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v: %s", c.tool, err, out)
		}
	}
}
