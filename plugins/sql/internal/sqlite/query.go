// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// grace is how long SQLite may go on after it was told to stop. It looks up
// between instructions, and a single one, such as instr of two huge values, may
// take arbitrarily long; only the end of the process stops that.
const grace = 5 * time.Second

// attempts bounds how often a statement is judged anew because the schema
// changes under it.
const attempts = 4

var errSchemaUnsteady = errors.New("the schema changes faster than statements can be judged")

// guarded runs do on c until ctx ends, and survives what SQLite does not.
func (c *conn) guarded(ctx context.Context, do func() error) (err error) {
	defer func() {
		// The binding panics when SQLite is out of memory.
		if p := recover(); p != nil {
			c.spent = true
			err = outOfMemory(p)
		}
	}()
	c.sqlite.SetInterrupt(ctx)
	c.watchdog.Reset(c.db.limits.Timeout + grace)
	defer func() {
		c.watchdog.Stop()
		c.sqlite.SetInterrupt(context.Background())
	}()
	return do()
}

func (c *conn) judgeAndRun(s engine.Statement) (json.RawMessage, error) {
	for range attempts {
		st := c.statements.get(s.SQL)
		if st == nil {
			var err error
			if st, err = c.judged(s.SQL); err != nil {
				return nil, err
			}
			c.statements.put(st)
		}
		result, err := c.run(st, s)
		if !c.guard.stale {
			return result, err
		}
		c.guard.stale = false
		c.statements.drop(st)
	}
	return nil, errSchemaUnsteady
}

// judged judges and prepares a statement against one snapshot of the file.
func (c *conn) judged(sql string) (st *statement, err error) {
	shape, err := inspect(sql)
	if err != nil {
		return nil, err
	}
	err = c.inTransaction(func() error {
		st, err = c.prepare(shape)
		return err
	})
	return st, err
}

// run runs a judged statement to its last row, or the last that is wanted.
func (c *conn) run(st *statement, s engine.Statement) (json.RawMessage, error) {
	if st.params != len(s.Params) {
		return nil, engine.BindCount(st.params, len(s.Params))
	}
	if err := bind(st.stmt, s.Params); err != nil {
		return nil, err
	}
	c.guard.phase = phaseRun
	defer func() {
		c.guard.phase = phaseTrusted
		_ = st.stmt.Reset() // repeats the error of Step
		_ = st.stmt.ClearBindings()
	}()
	r := engine.NewResult(st.header, c.db.limits, c.db.limits.Rows(s.MaxRows), st.size).As(s.RowsAs)
	more := false
	for st.stmt.Step() {
		// One row more is fetched than wanted, to know whether there is one.
		if more = r.Full(); more || !c.row(r, st) {
			break
		}
	}
	result := r.Finish(more)
	if err := st.stmt.Err(); err != nil {
		return nil, err
	}
	st.size = len(result)
	return result, nil
}

// row writes one row; false says that the result is full.
func (c *conn) row(r *engine.Result, st *statement) bool {
	r.StartRow()
	for i := range st.header.Columns() {
		switch st.stmt.ColumnType(i) {
		case sqlite3.INTEGER:
			r.Int(st.stmt.ColumnInt64(i))
		case sqlite3.FLOAT:
			r.Float(st.stmt.ColumnFloat(i))
		case sqlite3.TEXT:
			v := st.stmt.ColumnRawText(i)
			c.spent = c.spent || len(v) > wideValue
			r.Text(v)
		case sqlite3.BLOB:
			v := st.stmt.ColumnRawBlob(i)
			c.spent = c.spent || len(v) > wideValue
			r.Bytes(v)
		default:
			r.Null()
		}
	}
	return r.EndRow()
}

func bind(s *sqlite3.Stmt, params []engine.Param) error {
	for i, p := range params {
		var err error
		switch p.Kind {
		case engine.ParamBool:
			err = s.BindBool(i+1, p.Bool)
		case engine.ParamInt:
			err = s.BindInt64(i+1, p.Int)
		case engine.ParamFloat:
			err = s.BindFloat(i+1, p.Float)
		case engine.ParamText:
			err = s.BindText(i+1, p.Text)
		default:
			err = s.BindNull(i + 1)
		}
		if err != nil {
			return fmt.Errorf("params[%d]: %w", i, err)
		}
	}
	return nil
}
