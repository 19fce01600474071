// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// known is what a guard has to know of the schema.
type known struct {
	// RowFunctions are those that x.f may call, though it looks like a column: all
	// outside pg_catalog that one argument is enough for.
	RowFunctions map[string]bool
	// Columns are those of the tables that may be read.
	Columns map[string]bool
	// UserFunctions and UserOperators are those of the default schema that belong
	// to no extension: a call of a built-in one may mean one of them.
	UserFunctions, UserOperators map[string]bool
}

func (k known) equal(other known) bool {
	return maps.Equal(k.RowFunctions, other.RowFunctions) && maps.Equal(k.Columns, other.Columns) &&
		maps.Equal(k.UserFunctions, other.UserFunctions) && maps.Equal(k.UserOperators, other.UserOperators)
}

// relation is a table or view that may be read.
type relation struct {
	oid   string
	name  engine.Name
	table engine.Table
}

// relationsSQL has what the role may read of at least one column.
const relationsSQL = `
SELECT c.oid, n.nspname, c.relname, c.relkind, coalesce(obj_description(c.oid, 'pg_class'), ''), c.reltuples::bigint
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
	AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
	AND ($1 OR (n.nspname || '.' || c.relname) = ANY ($2))
ORDER BY n.nspname, c.relname`

// relations reads what is listed and there. The list is given to the server as
// joined names to spare others the way here; who is what is decided by tuples.
func (d *DB) relations(ctx context.Context, c *conn) ([]relation, error) {
	names := make([]string, len(d.tables))
	for i, n := range d.tables {
		names[i] = n.Schema + "." + n.Name
	}
	rows, err := c.own(ctx, relationsSQL, strconv.FormatBool(d.all), arrayOf(names))
	if err != nil {
		return nil, err
	}
	var list []relation
	for _, row := range rows {
		name := engine.Name{Schema: row[1], Name: row[2]}
		if !d.all && !slices.Contains(d.tables, name) {
			continue
		}
		table := engine.Table{Schema: name.Schema, Name: name.Name, Kind: kindOf(row[3]), Comment: row[4]}
		// A view has no rows of its own, and -1 is a table that was never counted.
		if n, err := strconv.ParseInt(row[5], 10, 64); err == nil && n >= 0 && table.Kind != engine.KindView {
			table.RowsEstimate = &n
		}
		list = append(list, relation{oid: row[0], name: name, table: table})
	}
	return list, nil
}

func kindOf(relkind string) engine.Kind {
	switch relkind {
	case "v", "m":
		return engine.KindView
	case "f":
		return engine.KindVirtual
	}
	return engine.KindTable
}

// arrayOf writes an array of text, as PostgreSQL reads it.
func arrayOf(values []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = `"` + escape.Replace(v) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

const rowFunctionsSQL = `
SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname <> 'pg_catalog' AND p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1`

const userFunctionsSQL = `
SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = $1 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')`

const userOperatorsSQL = `
SELECT DISTINCT o.oprname FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
WHERE n.nspname = $1 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend WHERE classid = 'pg_operator'::regclass AND objid = o.oid AND deptype = 'e')`

const columnNamesSQL = `
SELECT DISTINCT attname FROM pg_catalog.pg_attribute WHERE attrelid = ANY ($1::oid[]) AND attnum > 0 AND NOT attisdropped`

// learn tells the guard what the schema has now.
func (d *DB) learn(ctx context.Context, c *conn) error {
	relations, err := d.relations(ctx, c)
	if err != nil {
		return err
	}
	var k known
	for _, part := range []struct {
		into   *map[string]bool
		sql    string
		params []string
	}{
		{&k.RowFunctions, rowFunctionsSQL, nil},
		{&k.Columns, columnNamesSQL, []string{oids(relations)}},
		{&k.UserFunctions, userFunctionsSQL, []string{d.schema}},
		{&k.UserOperators, userOperatorsSQL, []string{d.schema}},
	} {
		if *part.into, err = c.set(ctx, part.sql, part.params...); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.guard != nil && d.known.equal(k) {
		return nil // and what it remembers of statements holds
	}
	guard, err := d.guards(k)
	if err != nil {
		return err
	}
	d.guard, d.known = guard, k
	return nil
}

func oids(relations []relation) string {
	list := make([]string, len(relations))
	for i, r := range relations {
		list[i] = r.oid
	}
	return arrayOf(list)
}

// set runs a statement of ours with one column.
func (c *conn) set(ctx context.Context, sql string, params ...string) (map[string]bool, error) {
	rows, err := c.own(ctx, sql, params...)
	set := make(map[string]bool, len(rows))
	for _, row := range rows {
		set[row[0]] = true
	}
	return set, err
}

// Tables lists what may be read.
func (d *DB) Tables(ctx context.Context) (tables []engine.Table, err error) {
	err = d.with(ctx, func(ctx context.Context, c *conn) error {
		relations, err := d.relations(ctx, c)
		tables = make([]engine.Table, len(relations))
		for i, r := range relations {
			tables[i] = r.table
		}
		return err
	})
	return tables, err
}
