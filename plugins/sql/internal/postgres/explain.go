// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"encoding/json"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// Explain gives the server's plan of a statement. With analyze the statement runs
// as well, under the same limits.
func (d *DB) Explain(ctx context.Context, s engine.Statement, analyze bool) (json.RawMessage, error) {
	v, err := d.Check(ctx, s.SQL)
	if err != nil {
		return nil, err
	}
	if v.Params != len(s.Params) {
		return nil, engine.BindCount(v.Params, len(s.Params))
	}
	params, err := bind(s.Params)
	if err != nil {
		return nil, err
	}
	prefix := "EXPLAIN (FORMAT JSON) "
	if analyze {
		prefix = "EXPLAIN (FORMAT JSON, ANALYZE) "
	}
	limits := d.limits
	limits.MaxCellBytes = limits.MaxBytes // the plan is one value, and all of the result
	result, err := d.run(ctx, v, &reading{sql: prefix + v.SQL, params: params, limits: limits, rows: 1})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Rows []struct {
			Plan json.RawMessage `json:"QUERY PLAN"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return nil, err
	}
	if len(answer.Rows) != 1 {
		return nil, engine.DBError("the plan is larger than max_bytes; explain a part of the statement")
	}
	plan := answer.Rows[0].Plan
	if err := d.showable(plan); err != nil {
		return nil, err
	}
	return plan, nil
}

// showable refuses a plan that names what is not listed: a view's plan tells of the
// tables under it, a partitioned table's of its partitions.
func (d *DB) showable(plan json.RawMessage) error {
	if d.all {
		return nil
	}
	var nodes any
	if err := json.Unmarshal(plan, &nodes); err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, t := range d.tables {
		listed[t.Name] = true
	}
	if !namesOnly(nodes, listed) {
		return engine.ConstructNotAllowed("explaining a view or a partitioned table that reads what is not in allowed_tables")
	}
	return nil
}

// namesOnly says whether all relations of a plan are among the listed ones.
func namesOnly(node any, listed map[string]bool) bool {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			if !namesOnly(child, listed) {
				return false
			}
		}
	case map[string]any:
		if name, ok := n["Relation Name"].(string); ok && !listed[name] {
			return false
		}
		for _, child := range n {
			if !namesOnly(child, listed) {
				return false
			}
		}
	}
	return true
}

// Sample gives the first n rows that the server comes across in a table. The
// statement is ours and is judged as any other.
func (d *DB) Sample(ctx context.Context, name engine.Name, n int) (json.RawMessage, error) {
	wanted := d.qualify(name)
	return d.Query(ctx, engine.Statement{SQL: "SELECT * FROM " + quote(wanted.Schema) + "." + quote(wanted.Name), MaxRows: n})
}
