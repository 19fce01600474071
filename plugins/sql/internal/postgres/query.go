// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

var errNoRows = errors.New("the statement has no rows to give")

// reading is one judged statement on its way.
type reading struct {
	sql    string
	params [][]byte
	limits engine.Limits
	rows   int // at most
	as     engine.RowsAs

	result  *engine.Result
	columns []column
	more    bool
	drained int
	wide    bool
	failure error // what the server said of it
}

// read runs one judged statement in a transaction of its own. All of it is sent
// at once; if the beginning fails the server skips the rest.
func (c *conn) read(ctx context.Context, opening []string, r *reading) (result json.RawMessage, err error) {
	err = c.within(ctx, func() error {
		f := c.pg.Frontend()
		for _, sql := range opening {
			f.SendParse(&pgproto3.Parse{Query: sql})
			f.SendBind(&pgproto3.Bind{})
			f.SendExecute(&pgproto3.Execute{})
		}
		f.SendParse(&pgproto3.Parse{Query: r.sql})
		f.SendBind(&pgproto3.Bind{Parameters: r.params}) // results as text, which loses nothing
		f.SendDescribe(&pgproto3.Describe{ObjectType: 'P'})
		// A portal with a maximum stops at the source, one row after the last that
		// is wanted. Its price is that no parallel workers take part.
		f.SendExecute(&pgproto3.Execute{MaxRows: uint32(r.rows + 1)}) //nolint:gosec // a limit of ours
		f.SendSync(&pgproto3.Sync{})
		if err := f.Flush(); err != nil {
			return err
		}
		return r.receive(c)
	})
	c.spent = c.spent || r.wide
	switch {
	case err != nil:
		return nil, err
	case r.failure != nil:
		return nil, r.failure
	case r.result == nil:
		c.spent = true
		return nil, errNoRows
	}
	return r.result.Finish(r.more), nil
}

// receive reads until the server is ready for the next command.
func (r *reading) receive(c *conn) error {
	for {
		msg, err := c.pg.ReceiveMessage(context.Background())
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *pgproto3.RowDescription:
			r.describe(m)
		case *pgproto3.DataRow:
			if !r.row(m) {
				// The rest is not worth reading: whoever closes this connection also
				// stops what it does.
				c.spent = true
				return c.abandon()
			}
		case *pgproto3.PortalSuspended:
			r.more = true
		case *pgproto3.ErrorResponse:
			r.failure = serverError(m)
		case *pgproto3.ReadyForQuery:
			return nil
		}
	}
}

// abandon stops a statement whose rows were enough.
func (c *conn) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = c.pg.CancelRequest(ctx)
	_ = c.pg.Close(ctx)
	return nil
}

func (r *reading) describe(m *pgproto3.RowDescription) {
	names := make([]string, len(m.Fields))
	r.columns = make([]column, len(m.Fields))
	for i, f := range m.Fields {
		names[i] = string(f.Name)
		r.columns[i] = columnOf(f.DataTypeOID)
	}
	r.result = engine.NewResult(engine.NewHeader(names), r.limits, r.rows, 0).As(r.as)
}

// row writes one row; false says that reading on is not worth it.
func (r *reading) row(m *pgproto3.DataRow) bool {
	size := 0
	for _, v := range m.Values {
		size += len(v)
	}
	r.wide = r.wide || size > wideRow
	if r.more || r.result == nil || r.result.Full() {
		r.more = true
		r.drained += size
		return r.drained <= maxDrain
	}
	r.result.StartRow()
	for i, v := range m.Values {
		r.columns[i](r.result, v)
	}
	r.more = !r.result.EndRow()
	return true
}

// bind writes parameters as text, from which the server infers their types.
func bind(params []engine.Param) ([][]byte, error) {
	values := make([][]byte, len(params))
	for i, p := range params {
		switch p.Kind {
		case engine.ParamBool:
			values[i] = strconv.AppendBool(nil, p.Bool)
		case engine.ParamInt:
			values[i] = strconv.AppendInt(nil, p.Int, 10)
		case engine.ParamFloat:
			values[i] = strconv.AppendFloat(nil, p.Float, 'g', -1, 64)
		case engine.ParamText:
			if strings.ContainsRune(p.Text, 0) {
				return nil, engine.BindValue(i, "text with a NUL character is nothing that PostgreSQL can hold")
			}
			values[i] = []byte(p.Text)
		case engine.ParamNull:
		}
	}
	return values, nil
}
