// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"slices"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/corpus"
)

// FuzzJudge holds that nothing makes the guard panic, that what it allows reads
// allowed tables only, and that the text made of a tree is judged as the tree.
func FuzzJudge(f *testing.F) {
	for i, line := range corpus.Read(f, corpusFile) {
		f.Add(line.SQL, uint8(i%16))
	}
	f.Add("SELECT \"a\\\" , 'it''s' -- x", uint8(3))
	f.Add("WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a) (SELECT * FROM a /* x */)", uint8(4))
	guards := make([]*Guard, 16)
	for i := range guards {
		mode := ""
		if i&1 != 0 {
			mode += ",ANSI_QUOTES,PIPES_AS_CONCAT"
		}
		if i&2 != 0 {
			mode += ",NO_BACKSLASH_ESCAPES"
		}
		guards[i] = newGuard(f, Policy{SQLMode: mode, Strip: i&4 != 0, FoldNames: i&8 != 0}, "orders", "customers", "audit.log")
	}
	f.Fuzz(func(t *testing.T, sql string, which uint8) {
		g := guards[which%16]
		v, err := g.Judge(sql)
		if err != nil {
			return
		}
		for _, table := range v.Tables {
			if !g.tables[table] {
				t.Errorf("%q reads %v", sql, table)
			}
		}
		if l, err := scan(v.SQL, g.modes); err != nil || l.comment >= 0 || l.second >= 0 {
			t.Errorf("%q runs %q: %+v, %v", sql, v.SQL, l, err)
		}
		again, err := g.Judge(v.SQL)
		if err != nil || again.SQL != v.SQL || !slices.Equal(again.Tables, v.Tables) || again.Params != v.Params {
			t.Errorf("%q runs %q, which is judged %+v, %v", sql, v.SQL, again, err)
		}
	})
}
