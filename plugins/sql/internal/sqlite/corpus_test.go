// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/corpus"
	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const corpusFile = "testdata/corpus.jsonl"

func TestCorpus(t *testing.T) {
	path := fixture(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range corpus.Read(t, corpusFile) {
		t.Run(line.ID, func(t *testing.T) {
			limits := testLimits
			if strings.Contains(line.Limits, "statement_timeout") {
				limits.Timeout = 300 * time.Millisecond
			}
			d := open(t, path, limits, line.Allowed...)
			params, err := engine.ParseParams(line.Params)
			if err != nil {
				t.Fatal(err)
			}
			got, err := query(t, d, line.SQL, params...)
			if strings.Contains(got, canary) || err != nil && strings.Contains(err.Error(), canary) {
				t.Fatalf("the canary is in the answer: %s %v", got, err)
			}
			t.Logf("%s -> %s %v", line.SQL, got, err)
			allowed := err == nil || line.Limits != "" && code(err) == engine.CodeTimeout
			if allowed != (line.Expect == "allow") {
				t.Errorf("%s: expected %s (%s), got %v", line.SQL, line.Expect, line.Why, err)
			}
			if strings.HasPrefix(code(err), "unexpected") || code(err) == engine.CodeUnavailable {
				t.Errorf("a refusal that explains nothing: %v", err)
			}
		})
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the database file has changed")
	}
}
