// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"slices"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const columnsSQL = `
SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, coalesce(pg_get_expr(f.adbin, f.adrelid), ''),
	coalesce(col_description(a.attrelid, a.attnum), '')
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
ORDER BY a.attnum`

// keysSQL has one row for each column of the primary key and the foreign keys.
const keysSQL = `
SELECT k.conname, k.contype, a.attname, coalesce(n.nspname, ''), coalesce(c.relname, ''), coalesce(b.attname, '')
FROM pg_catalog.pg_constraint k
CROSS JOIN LATERAL unnest(k.conkey, coalesce(k.confkey, '{}')) WITH ORDINALITY AS u(here, there, at)
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.here
LEFT JOIN pg_catalog.pg_class c ON c.oid = k.confrelid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.there
WHERE k.conrelid = $1::oid AND k.contype IN ('p', 'f')
ORDER BY k.conname, u.at`

const indexesSQL = `
SELECT c.relname, i.indisunique, pg_get_indexdef(i.indexrelid, at, true)
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
CROSS JOIN LATERAL generate_series(1, i.indnkeyatts) AS at
WHERE i.indrelid = $1::oid AND i.indisvalid
ORDER BY c.relname, at`

// Describe says what a table is made of. Of one that may not be read it says what
// it says of one that does not exist.
func (d *DB) Describe(ctx context.Context, name engine.Name) (description *engine.Description, err error) {
	err = d.with(ctx, func(ctx context.Context, c *conn) error {
		relations, err := d.relations(ctx, c)
		if err != nil {
			return err
		}
		wanted := d.qualify(name)
		at := slices.IndexFunc(relations, func(r relation) bool { return r.name == wanted })
		if at < 0 {
			return engine.TableNotAllowed(name.String())
		}
		description = &engine.Description{Table: relations[at].table}
		return c.describe(ctx, relations[at].oid, relations, description)
	})
	if err != nil {
		return nil, err
	}
	return description, nil
}

func (c *conn) describe(ctx context.Context, oid string, relations []relation, d *engine.Description) error {
	rows, err := c.own(ctx, columnsSQL, oid)
	if err != nil {
		return err
	}
	for _, row := range rows {
		d.Columns = append(d.Columns, engine.Column{Name: row[0], Type: row[1], Nullable: row[2] == "t", Default: row[3], Comment: row[4]})
	}
	if rows, err = c.own(ctx, keysSQL, oid); err != nil {
		return err
	}
	keys(rows, relations, d)
	if rows, err = c.own(ctx, indexesSQL, oid); err != nil {
		return err
	}
	for _, row := range rows {
		if n := len(d.Indexes); n > 0 && d.Indexes[n-1].Name == row[0] {
			d.Indexes[n-1].Columns = append(d.Indexes[n-1].Columns, row[2])
			continue
		}
		d.Indexes = append(d.Indexes, engine.Index{Name: row[0], Unique: row[1] == "t", Columns: []string{row[2]}})
	}
	return nil
}

// keys gathers the rows of keysSQL. A foreign key to a table that may not be read
// is not told of.
func keys(rows [][]string, relations []relation, d *engine.Description) {
	last := ""
	for _, row := range rows {
		constraint, kind, column, references := row[0], row[1], row[2], row[5]
		if kind == "p" {
			d.PrimaryKey = append(d.PrimaryKey, column)
			continue
		}
		table := engine.Name{Schema: row[3], Name: row[4]}
		if !slices.ContainsFunc(relations, func(r relation) bool { return r.name == table }) {
			continue
		}
		if constraint != last {
			d.ForeignKeys = append(d.ForeignKeys, engine.ForeignKey{Table: table})
			last = constraint
		}
		k := &d.ForeignKeys[len(d.ForeignKeys)-1]
		k.Columns, k.References = append(k.Columns, column), append(k.References, references)
	}
}
