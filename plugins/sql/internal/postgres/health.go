// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"strings"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// roleSQL has rights of the role that reading does not need, as sentences. Of
// tables it tells how many rather than which: who may only read what is listed
// does not learn from it what else there is.
const roleSQL = `
WITH others AS (
	SELECT c.oid, c.oid = ANY ($1::oid[]) AS listed FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
		AND has_schema_privilege(n.oid, 'USAGE')
), me AS (SELECT * FROM pg_catalog.pg_roles WHERE rolname = current_user)
SELECT 'the role is a superuser' FROM me WHERE rolsuper
UNION ALL SELECT 'the role may make roles' FROM me WHERE rolcreaterole AND NOT rolsuper
UNION ALL SELECT 'the role may make databases' FROM me WHERE rolcreatedb AND NOT rolsuper
UNION ALL SELECT 'the role may replicate' FROM me WHERE rolreplication AND NOT rolsuper
UNION ALL SELECT 'the role is not bound by row security' FROM me WHERE rolbypassrls AND NOT rolsuper
UNION ALL SELECT 'the role is a member of ' || r.rolname FROM pg_catalog.pg_roles r, me
	WHERE NOT me.rolsuper AND r.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
		'pg_read_all_data', 'pg_write_all_data', 'pg_signal_backend', 'pg_checkpoint', 'pg_create_subscription', 'pg_maintain')
		AND pg_has_role(current_user, r.oid, 'MEMBER')
UNION ALL SELECT 'the role may write to ' || count(*) || ' tables' FROM others
	WHERE has_any_column_privilege(oid, 'INSERT, UPDATE') OR has_table_privilege(oid, 'DELETE, TRUNCATE, TRIGGER') HAVING count(*) > 0
UNION ALL SELECT 'the role may read ' || count(*) || ' tables that are not in allowed_tables' FROM others
	WHERE NOT listed AND has_any_column_privilege(oid, 'SELECT') HAVING count(*) > 0
UNION ALL SELECT 'the role may create things in ' || count(*) || ' schemas' FROM pg_catalog.pg_namespace
	WHERE nspname NOT LIKE 'pg\_%' AND has_schema_privilege(oid, 'CREATE') HAVING count(*) > 0`

// findings are rights of the role that a reader does not need.
func (c *conn) findings(ctx context.Context, d *DB) ([]string, error) {
	relations, err := d.relations(ctx, c)
	if err != nil {
		return nil, err
	}
	rows, err := c.own(ctx, roleSQL, oids(relations))
	if err != nil {
		return nil, err
	}
	var findings []string
	for _, row := range rows {
		findings = append(findings, row[0])
	}
	return findings, nil
}

// judgeRole does what the operator wants done about findings.
func judgeRole(findings []string, o Options) error {
	switch {
	case len(findings) == 0 || o.RequireReadonlyRole == "off":
	case o.RequireReadonlyRole == "refuse":
		return &OpenError{
			Summary: "the role may do more than read what is listed",
			Detail:  strings.Join(findings, "; ") + "; use a role that may SELECT the tables of allowed_tables and nothing else",
		}
	case o.Warn != nil:
		for _, f := range findings {
			o.Warn(f)
		}
	}
	return nil
}

// Health says how the database and its role are. Where it cannot be asked, that
// is the one finding.
func (d *DB) Health(ctx context.Context) engine.Health {
	h := engine.Health{Engine: "postgres"}
	err := d.with(ctx, func(ctx context.Context, c *conn) (err error) {
		h.Version = c.pg.ParameterStatus("server_version")
		h.Findings, err = c.findings(ctx, d)
		return err
	})
	if err != nil {
		h.Findings = []string{"the database cannot be read at the moment"}
	}
	h.Open, h.Busy, h.Max = d.pool.Counts()
	return h
}
