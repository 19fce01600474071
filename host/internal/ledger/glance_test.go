// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

func TestAGlanceSeesWhatWasDoneToTheNewestRows(t *testing.T) {
	for name, tc := range map[string]struct {
		after int64
		deed  func(*book)
		want  string // in the error; empty: none
	}{
		"nothing":                        {0, func(*book) {}, ""},
		"nothing, of the newest five":    {7, func(*book) {}, ""},
		"a changed row":                  {0, func(b *book) { b.rows[6].Tool = "other" }, "row 7 does not follow"},
		"a changed first row":            {0, func(b *book) { b.rows[0].Tool = "other" }, "row 1 does not follow"},
		"the newest row, changed":        {7, func(b *book) { b.rows[11].Detail = "other" }, "row 12 does not follow"},
		"the newest row, with its hash":  {7, func(b *book) { b.rows[11].Hash = digest("other") }, "row 12 "},
		"the newest row, removed":        {7, func(b *book) { b.rows = b.rows[:11] }, "rows are missing"},
		"a row of the middle, removed":   {0, func(b *book) { b.rows = append(b.rows[:4:4], b.rows[5:]...) }, "does not follow"},
		"a value that no host writes":    {0, func(b *book) { b.rows[3].Fault = "column x is strange" }, "row 4: column x"},
		"a head of another key":          {0, func(b *book) { b.heads["host_A"] = signer(9).Sign(b.heads["host_A"].Head, nil, b.clock) }, "host_A"},
		"a change before what is looked": {7, func(b *book) { b.rows[1].Tool = "other" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := sample(t)
			tc.deed(b)
			err := ledger.Glance(t.Context(), b, ledger.NewVerifier(signer(1).Public()), tc.after)
			if (tc.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAGlanceIsNotMisledByAHostThatWritesMeanwhile(t *testing.T) {
	b := sample(t)
	b.during = func(read string) {
		if read == "links" {
			b.during = nil
			b.write("host_A")
			b.write("host_D")
		}
	}
	if err := ledger.Glance(t.Context(), b, ledger.NewVerifier(signer(1).Public()), 3); err != nil {
		t.Error(err)
	}
}
