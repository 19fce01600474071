// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// DB is one PostgreSQL database.
type DB struct {
	config *pgconn.Config
	schema string // of unqualified names
	tables []engine.Name
	all    bool
	calls  map[string]bool // the operator's additions to the allowed functions
	verify bool
	limits engine.Limits
	pool   *engine.Pool[*conn]
	guards guards

	mu    sync.Mutex
	guard judge
	known known
}

var _ engine.Engine = (*DB)(nil)

// judge decides whether a statement may run.
type judge interface {
	Judge(ctx context.Context, sql string) (*engine.Verdict, error)
}

// guards makes a judge that knows what the schema has.
type guards func(known known) (judge, error)

// Options say what may be read, and how.
type Options struct {
	// Tables are the names of the tables and views that may be read, as
	// engine.ParseName reads them; "*" stands for all but the system's. Names that
	// do not exist are ignored: they may come to exist.
	Tables []string
	// Functions are those that may be called besides the ones known to be harmless.
	Functions []string
	// Strip runs statements without their comments rather than refusing them.
	Strip bool
	// VerifyServer has the server say what each statement would read and call, as a
	// second opinion. Its price is a line in the server's log for each.
	VerifyServer bool
	// RequireReadonlyRole is what becomes of a role that may do more than read what
	// is listed: "warn", "refuse" or "off". Empty is "warn".
	RequireReadonlyRole string
	Limits              engine.Limits
	// Dial opens connections to the server. It resolves names. Nil: this process
	// does.
	Dial Dial
	// Warn is told what the operator should know. Nil: nobody is.
	Warn func(string)
}

// OpenError says why a database cannot be read at all.
type OpenError struct {
	// Summary is what is wrong, and Detail what to do about it. Neither has
	// anything of the DSN.
	Summary, Detail string
	err             error
}

func (e *OpenError) Error() string { return e.Summary + ": " + e.Detail }

// Unwrap is the error that lies beneath.
func (e *OpenError) Unwrap() error { return e.err }

// openWith opens a database with a judge of the caller's.
func openWith(ctx context.Context, dsn string, o Options, g func(d *DB) guards) (*DB, error) {
	cfg, schema, err := configure(dsn, o)
	if err != nil {
		return nil, err
	}
	d := &DB{
		config: cfg, schema: schema, verify: o.VerifyServer, limits: o.Limits,
		calls: map[string]bool{}, pool: engine.NewPool[*conn](o.Limits.Connections),
	}
	for _, f := range o.Functions {
		d.calls[f] = true
	}
	if err := d.list(o.Tables); err != nil {
		return nil, err
	}
	d.guards = g(d)
	c, err := d.acquire(ctx)
	if err != nil {
		return nil, opening(ctx, err)
	}
	findings, err := c.findings(ctx, d)
	d.pool.Release(c)
	if err == nil {
		err = judgeRole(findings, o)
	}
	if err != nil {
		_ = d.Close()
		return nil, opening(ctx, err)
	}
	return d, nil
}

// list reads allowed_tables.
func (d *DB) list(tables []string) error {
	for _, entry := range tables {
		if entry == "*" {
			d.all = true
			continue
		}
		name, err := engine.ParseName(entry)
		if err != nil {
			return &OpenError{Summary: "an entry of allowed_tables cannot be read", Detail: err.Error()}
		}
		d.tables = append(d.tables, d.qualify(name))
	}
	return nil
}

// qualify says which schema a name is in.
func (d *DB) qualify(n engine.Name) engine.Name {
	if n.Schema == "" {
		n.Schema = d.schema
	}
	return n
}

// Query judges and runs one statement.
func (d *DB) Query(ctx context.Context, s engine.Statement) (json.RawMessage, error) {
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
	return d.run(ctx, v, &reading{sql: v.SQL, params: params, limits: d.limits, rows: d.limits.Rows(s.MaxRows), as: s.RowsAs})
}

// run runs a statement that was judged.
func (d *DB) run(ctx context.Context, v *engine.Verdict, template *reading) (result json.RawMessage, err error) {
	err = d.with(ctx, func(ctx context.Context, c *conn) error {
		if d.verify {
			if err := d.verifyOn(ctx, c, v); err != nil {
				return err
			}
		}
		r := *template // another one for another try
		result, err = c.read(ctx, d.opening(), &r)
		return err
	})
	return result, err
}

// with runs do on a connection for as long as a statement may take. do only
// reads, so it is run once more where the connection was lost.
func (d *DB) with(caller context.Context, do func(ctx context.Context, c *conn) error) error {
	const tries = 2
	for try := 1; ; try++ {
		lost, err := d.once(caller, do)
		if !lost || try == tries {
			return err
		}
		d.pool.Flush() // most likely the others are lost, too
	}
}

func (d *DB) once(caller context.Context, do func(ctx context.Context, c *conn) error) (lost bool, err error) {
	c, err := d.acquire(caller)
	if err != nil {
		return false, d.explain(caller, caller, err)
	}
	defer d.pool.Release(c)
	ctx, cancel := context.WithTimeout(caller, d.limits.Timeout+timeoutGrace)
	defer cancel()
	err = do(ctx, c)
	lost = c.lost(err) && over(ctx) == nil
	c.reset()
	return lost, d.explain(ctx, caller, err)
}

// Check says what is thought of a statement without running it.
func (d *DB) Check(ctx context.Context, sql string) (*engine.Verdict, error) {
	d.mu.Lock()
	guard := d.guard
	d.mu.Unlock()
	v, err := guard.Judge(ctx, sql)
	if err != nil {
		return nil, d.explain(ctx, ctx, err)
	}
	return v, nil
}

// Close waits for running statements, each of which has its time, and closes
// every connection.
func (d *DB) Close() error {
	d.pool.Close()
	return nil
}

func opening(ctx context.Context, err error) error {
	if ended := over(ctx); ended != nil {
		return ended
	}
	if e, ok := errors.AsType[*OpenError](err); ok {
		return e
	}
	return &OpenError{Summary: "the database cannot be read", Detail: plain(err), err: err}
}
