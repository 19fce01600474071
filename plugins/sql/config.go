// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	"github.com/toolwharf/toolwharf/plugins/sql/internal/postgres"
	"github.com/toolwharf/toolwharf/plugins/sql/internal/sqlite"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// config is the adapter's configuration.
type config struct {
	DSN                 toolwharf.Secret      `json:"dsn" jsonschema:"The database: sqlite:FILE, relative to the directory that the plugin runs in, or postgres://USER:PASSWORD@HOST/DATABASE."`
	AllowedTables       []string              `json:"allowed_tables,omitempty" jsonschema:"Tables and views that may be read; nothing else may. What a listed view reads need not be listed. \"*\" lists all. Empty: nothing may be read."`
	AllowedFunctions    []string              `json:"allowed_functions,omitempty" jsonschema:"Functions that may be called besides those that are known to be harmless."`
	Queries             map[string]namedQuery `json:"queries,omitempty" jsonschema:"Statements of the operator's, each a tool of its own, by name."`
	Comments            string                `json:"comments,omitempty" default:"reject" enum:"reject,strip" jsonschema:"What is done with comments. strip runs what was made of the statement's tree, without them; not for SQLite."`
	Verify              string                `json:"verify,omitempty" default:"parser" enum:"parser,server" jsonschema:"Who judges: the parser, or PostgreSQL's own as well, which then logs each statement. SQLite always judges itself."`
	RequireReadonlyRole string                `json:"require_readonly_role,omitempty" default:"warn" enum:"warn,refuse,off" jsonschema:"What is done about a role that may do more than read. SQLite has no roles."`
	AllowExplainAnalyze bool                  `json:"allow_explain_analyze,omitempty" jsonschema:"explain may run statements as well; not for SQLite."`
	MaxRows             int                   `json:"max_rows,omitempty" default:"100" min:"1" max:"10000" jsonschema:"The most rows of a result; callers can only ask for fewer."`
	MaxBytes            int                   `json:"max_bytes,omitempty" default:"1032192" min:"4096" max:"16777216" jsonschema:"The most bytes of a result, as JSON; rows beyond are left out."`
	MaxCellBytes        int                   `json:"max_cell_bytes,omitempty" default:"16384" min:"16" max:"16777216" jsonschema:"The most bytes of one value; of a longer one the head is given."`
	StatementTimeout    time.Duration         `json:"statement_timeout,omitempty" default:"10s" min:"10ms" max:"10m" jsonschema:"How long a statement may run."`
	PoolMax             int                   `json:"pool_max,omitempty" default:"4" min:"1" max:"64" jsonschema:"How many statements may run at once."`
	PoolWait            time.Duration         `json:"pool_wait,omitempty" default:"2s" min:"0s" max:"1m" jsonschema:"How long a statement waits for its turn."`
}

// check judges a configuration without looking at anything but itself.
func check(_ context.Context, c config) ([]toolwharf.Grant, error) {
	if c.dialect() == dialectPostgres {
		address, err := postgres.Address(c.DSN.Reveal())
		if err = errors.Join(postgresFault(err), checkNames(c.AllowedTables), checkQueries(c.Queries)); err != nil {
			return nil, err
		}
		return []toolwharf.Grant{toolwharf.Connect(address)}, nil
	}
	path, err := c.file()
	if err = errors.Join(err, checkTables(c.AllowedTables), c.checkSQLite(), checkQueries(c.Queries)); err != nil {
		return nil, err
	}
	// What another program that writes has beside it; none of it need be there.
	return []toolwharf.Grant{
		toolwharf.Read(path), toolwharf.Read(path + "-wal"), toolwharf.Read(path + "-shm"), toolwharf.Read(path + "-journal"),
	}, nil
}

// dialect is the SQL that a database speaks.
type dialect string

const (
	dialectSQLite   dialect = "sqlite"
	dialectPostgres dialect = "postgres"
	dialectMySQL    dialect = "mysql"
)

// marker is how a statement marks its values.
func (d dialect) marker() string {
	if d == dialectPostgres {
		return "$1, $2, ..."
	}
	return "?"
}

// dialect is what the scheme of the DSN asks for; SQLite unless it is known.
func (c config) dialect() dialect {
	scheme, _, _ := strings.Cut(c.DSN.Reveal(), ":")
	switch strings.ToLower(scheme) {
	case "postgres", "postgresql":
		return dialectPostgres
	case "mysql", "mariadb":
		return dialectMySQL
	}
	return dialectSQLite
}

// checkSQLite refuses what SQLite cannot do.
func (c config) checkSQLite() error {
	var faults []error
	if c.Comments == "strip" {
		faults = append(faults, &toolwharf.ConfigError{Pointer: "/comments", Summary: "comments cannot be stripped for SQLite", Detail: "leave it at reject: SQLite gives no statement back as it has read it"})
	}
	if c.AllowExplainAnalyze {
		faults = append(faults, &toolwharf.ConfigError{Pointer: "/allow_explain_analyze", Summary: "SQLite has no EXPLAIN ANALYZE", Detail: "leave it out"})
	}
	for i, f := range c.AllowedFunctions {
		at := fmt.Sprintf("/allowed_functions/%d", i)
		switch {
		case f == "":
			faults = append(faults, toolwharf.ConfigFault(at, "a function has no name"))
		case strings.EqualFold(f, "load_extension"):
			faults = append(faults, toolwharf.ConfigFault(at, "load_extension runs code and cannot be allowed"))
		}
	}
	return errors.Join(faults...)
}

// checkNames refuses entries that are no names of tables where those may have a
// schema.
func checkNames(tables []string) error {
	var faults []error
	for i, t := range tables {
		if t == "*" {
			continue
		}
		if _, err := engine.ParseName(t); err != nil {
			faults = append(faults, &toolwharf.ConfigError{
				Pointer: fmt.Sprintf("/allowed_tables/%d", i), Summary: err.Error(),
				Detail: `write name, schema.name, or either part in double quotes`,
			})
		}
	}
	return errors.Join(faults...)
}

// checkTables refuses entries that cannot be meant.
func checkTables(tables []string) error {
	var faults []error
	for i, t := range tables {
		fault := &toolwharf.ConfigError{Pointer: fmt.Sprintf("/allowed_tables/%d", i)}
		switch {
		case t == "":
			fault.Summary = "a table has no name"
		case strings.HasPrefix(strings.ToLower(t), "sqlite_"):
			fault.Summary, fault.Detail = "SQLite's own tables cannot be listed", "list the tables themselves"
		default:
			continue
		}
		faults = append(faults, fault)
	}
	return errors.Join(faults...)
}

// file is the absolute path of the database.
func (c config) file() (string, error) {
	path, fault := filePath(c.DSN.Reveal())
	if fault != nil {
		return "", fault
	}
	return filepath.Abs(path)
}

// filePath takes the path from a DSN. Faults never quote the DSN: it may hold a
// password.
func filePath(dsn string) (string, error) {
	fault := func(summary, detail string) error {
		return &toolwharf.ConfigError{Pointer: "/dsn", Summary: summary, Detail: detail}
	}
	const form = "write sqlite:FILE, for example sqlite:shop.db, or postgres://USER@HOST/DATABASE"
	scheme, rest, ok := strings.Cut(dsn, ":")
	if !ok {
		return "", fault("the DSN has no scheme", form)
	}
	switch strings.ToLower(scheme) {
	case "sqlite", "sqlite3":
	case "mysql", "mariadb":
		return "", fault(scheme+" is not built yet", "for now this plugin reads SQLite and PostgreSQL; "+form)
	default:
		// A drive letter, a password: whatever stands there is not told.
		return "", fault("the scheme of the DSN is unknown", form)
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if rest = after; !strings.HasPrefix(rest, "/") {
			return "", fault("sqlite:// must be followed by an absolute path", "write sqlite:///absolute/path, or sqlite:FILE for a relative one")
		}
	}
	switch {
	case rest == "":
		return "", fault("the DSN names no file", form)
	case strings.HasPrefix(rest, ":memory:"):
		return "", fault("a database in memory would be empty", form)
	case strings.ContainsRune(rest, 0):
		return "", fault("the path holds a NUL character", form)
	}
	return rest, nil
}

// openDatabase opens the database of a configuration that was checked.
func openDatabase(ctx context.Context, c config) (*database, error) {
	if len(c.AllowedTables) == 0 {
		toolwharf.ConfigWarning(ctx, "/allowed_tables", `nothing may be read: list tables, or "*"`)
	}
	e, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	d := &database{e}
	if err := errors.Join(d.judgeQueries(ctx, c.Queries), c.offer(ctx, c.dialect())); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// open opens whichever engine the scheme of the DSN asks for.
func open(ctx context.Context, c config) (engine.Engine, error) {
	if c.dialect() == dialectPostgres {
		return openPostgres(ctx, c)
	}
	return openSQLite(ctx, c)
}

func openPostgres(ctx context.Context, c config) (engine.Engine, error) {
	db, err := postgres.Open(ctx, c.DSN.Reveal(), postgres.Options{
		Tables: c.AllowedTables, Functions: c.AllowedFunctions, Limits: c.limits(ctx),
		Strip: c.Comments == "strip", VerifyServer: c.Verify == "server", RequireReadonlyRole: c.RequireReadonlyRole,
		Dial: toolwharf.Dialer().DialContext,
		Warn: func(text string) { toolwharf.ConfigWarning(ctx, "/dsn", text) },
	})
	if err != nil {
		return nil, postgresFault(err)
	}
	return db, nil
}

// postgresFault says where in the configuration a fault of the DSN is.
func postgresFault(err error) error {
	if fault, ok := errors.AsType[*postgres.OpenError](err); ok {
		return &toolwharf.ConfigError{Pointer: "/dsn", Summary: fault.Summary, Detail: fault.Detail}
	}
	return err
}

// limits are those of the configuration, within the host's.
func (c config) limits(ctx context.Context) engine.Limits {
	maxBytes := c.MaxBytes
	if host := toolwharf.AdapterInfo(ctx).Limits.MaxResultBytes; host > 0 && int64(maxBytes) > host {
		maxBytes = int(host)
	}
	return engine.Limits{
		MaxRows: c.MaxRows, MaxBytes: maxBytes, MaxCellBytes: c.MaxCellBytes,
		Timeout: c.StatementTimeout, Connections: c.PoolMax, ConnectionWait: c.PoolWait,
	}
}

func openSQLite(ctx context.Context, c config) (engine.Engine, error) {
	path, err := c.file()
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{
		Tables: c.AllowedTables, Functions: c.AllowedFunctions, Limits: c.limits(ctx),
		Stuck: endProcess, ShutOut: startAnew,
	})
	if fault, ok := errors.AsType[*sqlite.OpenError](err); ok {
		return nil, &toolwharf.ConfigError{Pointer: "/dsn", Summary: fault.Summary, Detail: fault.Detail}
	}
	if err != nil {
		return nil, err
	}
	return db, nil
}
