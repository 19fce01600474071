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

// policy is that of a catalogue with the fixture of the corpus.
func policy(tb testing.TB, tables ...string) Policy {
	tb.Helper()
	p := Policy{RowFunctions: map[string]bool{"risky": true}}
	for _, t := range tables {
		n, err := engine.ParseName(t)
		if err != nil {
			n = engine.Name{Name: t}
		}
		p.Tables = append(p.Tables, n)
	}
	return p
}

func guardOf(tb testing.TB, p Policy) *Guard {
	tb.Helper()
	g, err := New(p)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func TestCorpus(t *testing.T) {
	for _, line := range corpus(t) {
		t.Run(line.ID, func(t *testing.T) {
			p := policy(t, line.Allowed...)
			v, err := guardOf(t, p).Judge(t.Context(), line.SQL)
			if (err == nil) != (line.Expect == "allow") {
				t.Errorf("%.200s: expected %s (%s), got %+v %v", line.SQL, line.Expect, line.Why, v, err)
			}
			// Where comments may pass, nothing else may pass with them.
			p.Strip = true
			_, stripped := guardOf(t, p).Judge(t.Context(), line.SQL)
			if (stripped == nil) != (err == nil) && code(err) != engine.CodeComment {
				t.Errorf("%.200s: got %v with Strip, %v without", line.SQL, stripped, err)
			}
		})
	}
}
