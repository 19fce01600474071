// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

type corpusLine struct {
	ID      string   `json:"id"`
	SQL     string   `json:"sql"`
	Allowed []string `json:"allowed_tables"`
	Expect  string   `json:"expect"`
	Why     string   `json:"why"`
	SQLMode string   `json:"sql_mode"`
}

func corpus(tb testing.TB) []corpusLine {
	tb.Helper()
	f, err := os.Open("testdata/corpus.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var lines []corpusLine
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		var l corpusLine
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

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
	for _, line := range corpus(t) {
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
