// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// withCatalog does something with a connection of which the catalog is that of
// the file, in one transaction.
func (d *DB) withCatalog(caller context.Context, do func(*conn) error) error {
	return d.with(caller, func(c *conn) error {
		return c.inTransaction(func() error {
			if err := c.refreshCatalog(); err != nil {
				return err
			}
			return do(c)
		})
	})
}

// listed finds what a caller names. Whatever is not listed looks the same.
func (c *catalog) listed(table engine.Name) (object, error) {
	name := fold(table.Name)
	if schema := fold(table.Schema); (schema != "" && schema != "main") || !c.allowed[name] {
		if (schema == "" || schema == "main") && c.absent[name] {
			return object{}, engine.DBError("table " + table.String() + " is in allowed_tables, but does not exist")
		}
		return object{}, engine.TableNotAllowed(table.String())
	}
	return c.objects[name], nil
}

// Describe says what a table is made of.
func (d *DB) Describe(caller context.Context, table engine.Name) (description *engine.Description, err error) {
	err = d.withCatalog(caller, func(c *conn) error {
		o, err := c.guard.catalog.listed(table)
		if err != nil {
			return err
		}
		description, err = c.describe(o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return description, nil
}

// describe reads the schema by statements of our own.
func (c *conn) describe(o object) (*engine.Description, error) {
	d := &engine.Description{Table: engine.Table{Name: o.name, Kind: o.kind}}
	if err := c.describeColumns(d); err != nil {
		// It is a view that does not compile; the error would name what it reads.
		if errors.Is(err, sqlite3.ERROR) {
			return nil, engine.DBError(o.name + " is a view that SQLite cannot read")
		}
		return nil, err
	}
	if err := c.describeKeys(d); err != nil {
		return nil, err
	}
	return d, c.describeIndexes(d)
}

// pragma is a statement of our own about one table.
func pragma(name, table string) string {
	return "PRAGMA main." + name + "(" + sqlite3.QuoteIdentifier(table) + ")"
}

func (c *conn) describeColumns(d *engine.Description) error {
	const (
		name, kind, notNull, fallback, key, hidden = 1, 2, 3, 4, 5, 6
		ofModule                                   = 1 // an argument of a virtual table
	)
	keys := map[int]string{}
	err := c.each(pragma("table_xinfo", d.Name), func(s *sqlite3.Stmt) {
		if s.ColumnInt(hidden) == ofModule {
			return
		}
		column := engine.Column{
			Name: s.ColumnText(name), Type: s.ColumnText(kind), Nullable: !s.ColumnBool(notNull), Default: s.ColumnText(fallback),
		}
		if n := s.ColumnInt(key); n > 0 {
			keys[n] = column.Name
		}
		d.Columns = append(d.Columns, column)
	})
	for n := 1; keys[n] != ""; n++ {
		d.PrimaryKey = append(d.PrimaryKey, keys[n])
	}
	// Only such a key is the row's own number, which every row has.
	if len(d.PrimaryKey) == 1 {
		for i := range d.Columns {
			if column := &d.Columns[i]; column.Name == d.PrimaryKey[0] && fold(column.Type) == "integer" {
				column.Nullable = false
			}
		}
	}
	return err
}

// describeKeys lists the foreign keys that lead to listed tables; the others
// would say what else there is.
func (c *conn) describeKeys(d *engine.Description) error {
	const id, table, from, to = 0, 2, 3, 4
	type reference struct {
		engine.ForeignKey
		id int
	}
	var keys []reference
	err := c.each(pragma("foreign_key_list", d.Name), func(s *sqlite3.Stmt) {
		target := fold(s.ColumnText(table))
		if !c.guard.catalog.allowed[target] {
			return
		}
		if n := len(keys); n == 0 || keys[n-1].id != s.ColumnInt(id) {
			keys = append(keys, reference{engine.ForeignKey{Table: engine.Name{Name: c.guard.catalog.objects[target].name}}, s.ColumnInt(id)})
		}
		k := &keys[len(keys)-1]
		k.Columns = append(k.Columns, s.ColumnText(from))
		if s.ColumnType(to) != sqlite3.NULL {
			k.References = append(k.References, s.ColumnText(to))
		}
	})
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.References == nil { // the key of the other table
			other := &engine.Description{Table: engine.Table{Name: k.Table.Name}}
			if err := c.describeColumns(other); err != nil {
				return err
			}
			k.References = other.PrimaryKey
		}
		d.ForeignKeys = append(d.ForeignKeys, k.ForeignKey)
	}
	return nil
}

func (c *conn) describeIndexes(d *engine.Description) error {
	const name, unique = 1, 2
	err := c.each(pragma("index_list", d.Name), func(s *sqlite3.Stmt) {
		d.Indexes = append(d.Indexes, engine.Index{Name: s.ColumnText(name), Unique: s.ColumnBool(unique)})
	})
	if err != nil {
		return err
	}
	for i := range d.Indexes {
		if err := c.describeIndex(&d.Indexes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) describeIndex(index *engine.Index) error {
	const column, name, isKey, expression, rowid = 1, 2, 5, -2, "rowid"
	written, err := c.indexedExpressions(index.Name)
	if err != nil {
		return err
	}
	return c.each(pragma("index_xinfo", index.Name), func(s *sqlite3.Stmt) {
		if !s.ColumnBool(isKey) {
			return
		}
		n := len(index.Columns)
		switch {
		case s.ColumnInt(column) == expression && n < len(written):
			index.Columns = append(index.Columns, written[n])
		case s.ColumnType(name) == sqlite3.NULL:
			index.Columns = append(index.Columns, rowid)
		default:
			index.Columns = append(index.Columns, s.ColumnText(name))
		}
	})
}

// indexedExpressions are what an index is on, as it is written in its
// definition.
func (c *conn) indexedExpressions(index string) ([]string, error) {
	sql := ""
	s, _, err := c.sqlite.Prepare(`SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?`)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.BindText(1, index); err != nil {
		return nil, err
	}
	if s.Step() {
		sql = s.ColumnText(0)
	}
	return listIn(sql), s.Err()
}

// listIn splits what stands in the first parentheses of a definition.
func listIn(sql string) (items []string) {
	depth, start := 0, 0
	for _, t := range lexSchema(sql) {
		switch {
		case t.is("("):
			if depth++; depth == 1 {
				start = t.end
			}
		case t.is(",") && depth == 1:
			items = append(items, strings.TrimSpace(sql[start:t.start]))
			start = t.end
		case t.is(")"):
			if depth--; depth == 0 {
				return append(items, strings.TrimSpace(sql[start:t.start]))
			}
		}
	}
	return items
}

// Sample gives rows of a table, whichever come first.
func (d *DB) Sample(caller context.Context, table engine.Name, n int) (result json.RawMessage, err error) {
	name := ""
	err = d.withCatalog(caller, func(c *conn) error {
		o, err := c.guard.catalog.listed(table)
		name = o.name
		return err
	})
	if err != nil {
		return nil, err
	}
	// Between the two the schema may change: the statement is judged like any other.
	return d.Query(caller, engine.Statement{SQL: "SELECT * FROM " + sqlite3.QuoteIdentifier(name), MaxRows: n})
}

// Health tells of the engine; a file has no roles.
func (d *DB) Health(caller context.Context) engine.Health {
	h := engine.Health{Engine: "SQLite"}
	if err := d.with(caller, func(c *conn) error {
		return c.each("SELECT sqlite_version()", func(s *sqlite3.Stmt) { h.Version = s.ColumnText(0) })
	}); err != nil {
		h.Version = ""
	}
	h.Open, h.Busy, h.Max = d.pool.Counts()
	return h
}
