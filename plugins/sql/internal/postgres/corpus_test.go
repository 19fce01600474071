// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/corpus"
	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const corpusFile = "guard/testdata/corpus.jsonl"

// guarded opens a database as the plugin does.
func guarded(t testing.TB, database string, o Options) *DB {
	t.Helper()
	if o.Limits == (engine.Limits{}) {
		o.Limits = testLimits
	}
	d, err := Open(t.Context(), dsn("reader", database), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// counts are the rows of every table of the fixture.
func counts(t testing.TB, database string) string {
	t.Helper()
	return strings.Join(admin(t, database, `SELECT format('%s %s', c.oid::regclass, query_to_xml(format('SELECT count(*) FROM %s', c.oid::regclass), nulls => true, tableforest => true, targetns => ''))
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`), "\n")
}

// The reader of the fixture may SELECT everything: what keeps the rest from the
// caller is the guard. The server's own opinion is asked of each statement too,
// and must never be another one.
func TestCorpus(t *testing.T) {
	name := database(t, "")
	before := counts(t, name)
	open := map[string]*DB{}
	engineOf := func(line corpus.Line, o Options) *DB {
		key := strings.Join(line.Allowed, "\x00") + line.Limits
		if o.VerifyServer {
			key += "\x00verified"
		}
		if open[key] == nil {
			o.Limits = testLimits
			if line.Limits != "" { // whatever else bounds it, time does
				o.Limits.Timeout = 300 * time.Millisecond
			}
			for _, table := range line.Allowed {
				if _, err := engine.ParseName(table); err != nil {
					table = `"` + strings.ReplaceAll(table, `"`, `""`) + `"`
				}
				o.Tables = append(o.Tables, table)
			}
			open[key] = guarded(t, name, o)
		}
		return open[key]
	}
	for _, line := range corpus.Read(t, corpusFile) {
		params, err := engine.ParseParams(line.Params)
		if err != nil {
			t.Fatal(err)
		}
		var codes [2]string
		for i, verified := range []bool{false, true} {
			got, err := query(t, engineOf(line, Options{VerifyServer: verified}), line.SQL, params...)
			codes[i] = code(err)
			if strings.Contains(got, canary) || err != nil && strings.Contains(err.Error(), "7f3a") {
				t.Fatalf("%s: the canary is in the answer: %s %v", line.ID, got, err)
			}
			allowed := err == nil || line.Limits != "" && code(err) == engine.CodeTimeout
			if allowed != (line.Expect == "allow") {
				t.Errorf("%s (verified: %v): %.200s: expected %s (%s), got %v", line.ID, verified, line.SQL, line.Expect, line.Why, err)
			}
			if strings.HasPrefix(code(err), "unexpected") || code(err) == engine.CodeUnavailable || line.Expect == "reject" && code(err) == engine.CodeDBError {
				t.Errorf("%s: a refusal that is not the guard's: %v", line.ID, err)
			}
		}
		if codes[0] != codes[1] {
			t.Errorf("%s: the guard says %q, with the server %q", line.ID, codes[0], codes[1])
		}
	}
	if after := counts(t, name); after != before {
		t.Errorf("rows have changed:\n%s\nwere\n%s", after, before)
	}
}
