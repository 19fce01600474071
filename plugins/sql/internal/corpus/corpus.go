// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package corpus reads the statements that guards are tested with.
package corpus

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// Line is one statement and what has to become of it.
type Line struct {
	ID      string            `json:"id"`
	Class   string            `json:"class"`
	SQL     string            `json:"sql"`
	Allowed []string          `json:"allowed_tables"`
	Expect  string            `json:"expect"`
	Why     string            `json:"why"`
	Params  []json.RawMessage `json:"params"`
	Limits  string            `json:"limits"`
	SQLMode string            `json:"sql_mode"`
}

// Read reads a file with a line of JSON for each statement.
func Read(tb testing.TB, file string) []Line {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var lines []Line
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		var l Line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, l)
	}
	if err := scanner.Err(); err != nil || len(lines) == 0 {
		tb.Fatalf("%s: %d lines, %v", file, len(lines), err)
	}
	return lines
}
