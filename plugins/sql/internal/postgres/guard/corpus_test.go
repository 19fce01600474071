// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/corpus"
	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const corpusFile = "testdata/corpus.jsonl"

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
	for _, line := range corpus.Read(t, corpusFile) {
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
