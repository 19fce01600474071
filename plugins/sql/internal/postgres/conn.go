// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Bounds of one connection, whatever a caller makes of them.
const (
	// maxRow is the largest message, and so the largest row, that is taken.
	maxRow = 64 << 20
	// wideRow is a row after which a connection is not kept: its buffers stay.
	wideRow = 4 << 20
	// maxDrain is how much of a result that is not wanted is read to keep the
	// connection, rather than closing it.
	maxDrain = 1 << 20
	// patience is for ending things, which must not depend on the caller's.
	patience = 2 * time.Second
)

var errUnclean = errors.New("the session could not be reset")

// conn is one connection. It serves one call at a time.
type conn struct {
	pg      *pgconn.PgConn
	born    time.Time
	running bool     // the server may be at work
	spent   bool     // not to be used again
	keep    bool     // notices are kept
	notices []string // what the server said meanwhile
}

// connect opens a connection.
func (d *DB) connect(ctx context.Context) (*conn, error) {
	c := &conn{born: time.Now()}
	cfg := d.config.Copy()
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if c.keep {
			c.notices = append(c.notices, n.Message+"\n"+n.Detail)
		}
	}
	var err error
	if c.pg, err = pgconn.ConnectConfig(ctx, cfg); err != nil {
		return nil, connectError(ctx, err)
	}
	// A database that never looked at its bytes cannot give them as UTF-8, only as
	// they are.
	if bytes := "SQL_ASCII"; c.pg.ParameterStatus("server_encoding") == bytes && c.pg.ParameterStatus("client_encoding") != bytes {
		c.Close()
		cfg.RuntimeParams["client_encoding"] = bytes
		if c.pg, err = pgconn.ConnectConfig(ctx, cfg); err != nil {
			return nil, connectError(ctx, err)
		}
	}
	if err := d.learn(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// within runs do, which talks to the server, until ctx ends. Deadlines are set on
// the socket once for the whole of it rather than for each message.
func (c *conn) within(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	socket := c.pg.Conn()
	stop := context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Unix(1, 0)) })
	c.running = true
	err := do()
	c.running = err != nil
	// A deadline that was set after the last message is one for the next call.
	if !stop() || c.running || c.pg.IsClosed() {
		c.spent = true
	}
	if c.running && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// own runs a statement of ours, which is trusted, and gives its rows as text.
func (c *conn) own(ctx context.Context, sql string, params ...string) (rows [][]string, err error) {
	values := make([][]byte, len(params))
	for i, p := range params {
		values[i] = []byte(p)
	}
	err = c.within(ctx, func() error {
		r := c.pg.ExecParams(context.Background(), sql, values, nil, nil, nil).Read()
		for _, row := range r.Rows {
			texts := make([]string, len(row))
			for i, v := range row {
				texts[i] = string(v)
			}
			rows = append(rows, texts)
		}
		return r.Err
	})
	return rows, err
}

// reset ends what a call has left. The two statements are sent as two messages:
// DISCARD ALL is not possible within a transaction, which one message of both
// would be.
func (c *conn) reset() {
	if c.spent {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := c.within(ctx, func() error {
		f := c.pg.Frontend()
		f.SendQuery(&pgproto3.Query{String: "ROLLBACK"})
		f.SendQuery(&pgproto3.Query{String: "DISCARD ALL"})
		if err := f.Flush(); err != nil {
			return err
		}
		for range 2 {
			if err := c.ready(); err != nil {
				return err
			}
		}
		return nil
	})
	const idle = 'I'
	if err != nil || c.pg.TxStatus() != idle {
		c.spent = true
	}
}

// ready reads until the server waits for the next command.
func (c *conn) ready() error {
	for {
		msg, err := c.pg.ReceiveMessage(context.Background())
		if err != nil {
			return err
		}
		switch msg.(type) {
		case *pgproto3.ErrorResponse:
			return errUnclean
		case *pgproto3.ReadyForQuery:
			return nil
		}
	}
}

// Spent says that the connection is not to be used again.
func (c *conn) Spent() bool { return c.spent }

// close ends the connection, and on the server what still runs for it.
func (c *conn) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if c.pg.IsClosed() {
		select {
		case <-c.pg.CleanupDone():
		case <-ctx.Done():
		}
		return
	}
	if c.running {
		_ = c.pg.CancelRequest(ctx)
	}
	_ = c.pg.Conn().SetDeadline(time.Now().Add(patience))
	_ = c.pg.Close(ctx)
}

// opening begins the transaction of one call.
func (d *DB) opening() []string {
	timeout := milliseconds(d.limits.Timeout)
	return []string{
		"BEGIN READ ONLY",
		"SET LOCAL search_path = " + searchPath(d.schema),
		"SET LOCAL statement_timeout = " + timeout,
		"SET LOCAL lock_timeout = " + timeout,
		fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %s", milliseconds(d.limits.Timeout+idleGrace)),
	}
}

// lost says whether an error is about the connection rather than the statement.
func (c *conn) lost(err error) bool {
	if err == nil || !c.pg.IsClosed() {
		return false
	}
	if _, large := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); large {
		return false
	}
	e, told := errors.AsType[*pgconn.PgError](err)
	return !told || strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08")
}
