// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/corpus"
	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const corpusFile = "testdata/corpus.jsonl"

// newGuard makes a guard of database shop.
func newGuard(tb testing.TB, p Policy, tables ...string) *Guard {
	tb.Helper()
	p.Database = "shop"
	for _, table := range tables {
		name, err := engine.ParseName(table)
		if err != nil {
			tb.Fatal(err)
		}
		p.Tables = append(p.Tables, name)
	}
	g, err := New(p)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func TestCorpus(t *testing.T) {
	for _, line := range corpus.Read(t, corpusFile) {
		for _, strip := range []bool{false, true} {
			g := newGuard(t, Policy{SQLMode: line.SQLMode, Strip: strip}, line.Allowed...)
			_, err := g.Judge(line.SQL)
			if strip && line.Expect == "reject" && err == nil {
				continue // TestStrippedStatements has these
			}
			if (err == nil) != (line.Expect == "allow") {
				t.Errorf("%s (strip %v): %q: %v, want %s: %s", line.ID, strip, line.SQL, err, line.Expect, line.Why)
			}
			if err != nil && !strip {
				t.Logf("%s %q: %v", line.ID, line.SQL, err)
			}
		}
	}
}
