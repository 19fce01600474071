// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// written is one row of one of each, and one of mixed bytes and text.
func written(shape RowsAs, l Limits) json.RawMessage {
	r := NewResult(NewHeader([]string{"id", "text", "mixed"}), l, 10, 0).As(shape)
	for _, text := range []string{"a,\"b\"\n", "", "plain", " x"} {
		r.StartRow()
		r.Int(9007199254740993)
		r.Text([]byte(text))
		r.Bytes([]byte{1, 2})
		if !r.EndRow() {
			return r.Finish(false)
		}
	}
	r.StartRow()
	r.Null()
	r.Text([]byte("longer than a cell may be"))
	r.Text([]byte("text"))
	r.EndRow()
	return r.Finish(false)
}

func TestRowsAreListsWhereThatIsAsked(t *testing.T) {
	var got struct {
		Columns []string
		Rows    [][]any
	}
	out := written(RowsAsArrays, Limits{MaxBytes: 1 << 20, MaxCellBytes: 20})
	if err := json.Unmarshal(out, &got); err != nil || len(got.Columns) != 3 || len(got.Rows) != 5 || got.Rows[0][0] != "9007199254740993" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCSVReadsBackAsWhatWasWritten(t *testing.T) {
	var got struct {
		CSV  string
		Rows *int
	}
	out := written(RowsAsCSV, Limits{MaxBytes: 1 << 20, MaxCellBytes: 20})
	if err := json.Unmarshal(out, &got); err != nil || got.Rows != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rows, err := csv.NewReader(strings.NewReader(got.CSV)).ReadAll()
	const bytes = `{"$base64":"AQI="}`
	if err != nil || len(rows) != 5 || !slices.Equal(rows[0], []string{"9007199254740993", "a,\"b\"\n", bytes}) ||
		rows[3][1] != " x" || rows[4][0] != "" || !strings.HasPrefix(rows[4][1], `{"$truncated":true`) || rows[4][2] != "text" {
		t.Errorf("%v: %q", err, rows)
	}
	if !strings.Contains(got.CSV, `,"",`) {
		t.Errorf("an empty text looks like NULL: %s", got.CSV)
	}
}

func TestAllShapesKeepTheSameBounds(t *testing.T) {
	for _, shape := range []RowsAs{RowsAsObjects, RowsAsArrays, RowsAsCSV} {
		const most = 900
		out := written(shape, Limits{MaxBytes: most, MaxCellBytes: 20})
		if !json.Valid(out) || len(out) > most || !strings.Contains(string(out), `"truncated_by":"bytes"`) {
			t.Errorf("%s: %d bytes: %s", shape, len(out), out)
		}
	}
}
