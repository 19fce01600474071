// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// Check judges a statement and runs nothing.
func (d *DB) Check(caller context.Context, sql string) (v *engine.Verdict, err error) {
	shape, err := inspect(sql)
	if err != nil {
		return nil, err
	}
	err = d.with(caller, func(c *conn) error {
		return c.inTransaction(func() error {
			st, err := c.prepare(shape)
			if err != nil {
				return err
			}
			v = c.guard.seen.of(c.guard.catalog, st)
			return st.stmt.Close()
		})
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// of is what may be told of a verdict: what a listed view reads, and is not
// listed itself, is not.
func (v *verdict) of(cat *catalog, st *statement) *engine.Verdict {
	told := &engine.Verdict{SQL: st.sql, Params: st.params}
	for name := range v.reads {
		if cat.allowed[name] {
			told.Tables = append(told.Tables, engine.Name{Name: cat.objects[name].name})
		}
	}
	for name := range v.functions {
		told.Functions = append(told.Functions, name)
	}
	slices.SortFunc(told.Tables, func(a, b engine.Name) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(told.Functions)
	return told
}

// Explain gives the lines of SQLite's plan, in depth by spaces.
func (d *DB) Explain(caller context.Context, s engine.Statement, analyze bool) (plan json.RawMessage, err error) {
	if analyze {
		return nil, engine.ConstructNotAllowed("explaining with analyze, which SQLite does not have,")
	}
	shape, err := inspect(s.SQL)
	if err != nil {
		return nil, err
	}
	err = d.with(caller, func(c *conn) error {
		return c.inTransaction(func() error {
			lines, err := c.plan(shape, s)
			if err == nil {
				plan, err = json.Marshal(lines)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return plan, nil
}

func (c *conn) plan(shape *shape, s engine.Statement) ([]string, error) {
	st, err := c.prepare(shape)
	if err != nil {
		return nil, err
	}
	if err := st.stmt.Close(); err != nil {
		return nil, err
	}
	if st.params != len(s.Params) {
		return nil, engine.BindCount(st.params, len(s.Params))
	}
	if c.guard.catalog.unlisted(c.guard.seen) {
		return nil, engine.ConstructNotAllowed("explaining a view that reads what is not in allowed_tables")
	}
	c.guard.phase = phaseJudge
	e, _, err := c.sqlite.Prepare("EXPLAIN QUERY PLAN " + shape.sql)
	c.guard.phase = phaseTrusted
	if err != nil {
		return nil, err
	}
	defer e.Close()
	const id, parent, detail = 0, 1, 3
	depth := map[int]int{0: 0}
	lines := []string{}
	for e.Step() {
		d := depth[e.ColumnInt(parent)]
		depth[e.ColumnInt(id)] = d + 1
		lines = append(lines, strings.Repeat("  ", d)+strings.ToValidUTF8(e.ColumnText(detail), "\uFFFD"))
	}
	return lines, e.Err()
}

// unlisted says whether a statement reaches, through listed views, anything that
// is not listed: its plan would name it. It follows what views read rather than
// what the statement opens, since a plan also names views within views.
func (c *catalog) unlisted(v *verdict) bool {
	var reached []string
	for name := range v.reads {
		reached = append(reached, name)
	}
	for name := range v.contexts {
		reached = append(reached, name)
	}
	seen := map[string]bool{}
	for len(reached) > 0 {
		name := reached[0]
		reached = reached[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		if c.hidden(name) {
			return true
		}
		for inner := range c.views.reads[name] {
			reached = append(reached, inner)
		}
	}
	return false
}
