// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// Policy is what statements may do.
type Policy struct {
	// Tables may be read. Without a schema they are in DefaultSchema.
	Tables []engine.Name
	// All lets every table be read, but those of PostgreSQL itself.
	All bool
	// DefaultSchema is all that search_path has; "public" when empty.
	DefaultSchema string
	// Functions may be called in addition to the built-in ones that do nothing
	// but compute: name, for one of DefaultSchema or of PostgreSQL, or
	// schema.name.
	Functions []string
	// Types may be cast to in addition to the built-in ones: enums, say. Written
	// as Functions are.
	Types []string
	// Strip lets comments pass: what runs then is made of the parsed tree.
	Strip bool

	// RowFunctions are functions that can be called as if they were a column of
	// a row: alias.f runs f(alias). Nil means that nobody has looked; then a
	// column is taken for a column, and (expression).f is refused.
	RowFunctions map[string]bool
	// Columns are those of the tables that may be read. A name that is here is
	// a column even if it is in RowFunctions as well.
	Columns map[string]bool
	// UserFunctions are names of functions in DefaultSchema that belong to no
	// extension. Such a name does not mean the built-in function without doubt,
	// and is refused unless it is in Functions or written as pg_catalog.name.
	UserFunctions map[string]bool
	// UserOperators are operators in DefaultSchema that belong to no extension.
	UserOperators map[string]bool
}

// catalogSchema is the schema of all that is built in.
const catalogSchema = "pg_catalog"

// rules are a Policy in the form in which it is asked.
type rules struct {
	Policy
	tables    map[engine.Name]bool
	functions map[engine.Name]bool
	types     map[engine.Name]bool
}

func compile(p Policy) (*rules, error) {
	if p.DefaultSchema == "" {
		p.DefaultSchema = "public"
	}
	r := &rules{Policy: p, tables: map[engine.Name]bool{}}
	for _, t := range p.Tables {
		if t.Schema == "" {
			t.Schema = p.DefaultSchema
		}
		r.tables[t] = true
	}
	var err error
	if r.functions, err = r.names("function", p.Functions); err != nil {
		return nil, err
	}
	if r.types, err = r.names("type", p.Types); err != nil {
		return nil, err
	}
	return r, nil
}

// names are entries as what a statement may write for them.
func (r *rules) names(kind string, entries []string) (map[engine.Name]bool, error) {
	m := map[engine.Name]bool{}
	for _, entry := range entries {
		n, err := engine.ParseName(entry)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", kind, entry, err)
		}
		m[n] = true
		switch n.Schema {
		case "":
			m[engine.Name{Schema: r.DefaultSchema, Name: n.Name}] = true
			m[engine.Name{Schema: catalogSchema, Name: n.Name}] = true
		case r.DefaultSchema, catalogSchema:
			m[engine.Name{Name: n.Name}] = true
		}
	}
	return m, nil
}

// table says whether a table may be read. A name without a schema is looked for
// in pg_catalog first, by the server too: pg_class is never one's own.
func (r *rules) table(n engine.Name) bool {
	if n.Schema == "" {
		if strings.HasPrefix(n.Name, "pg_") {
			return false
		}
		n.Schema = r.DefaultSchema
	}
	switch {
	case strings.HasPrefix(n.Schema, "pg_"):
		return false
	case r.tables[n]:
		return true
	}
	return r.All && n.Schema != "information_schema"
}

// function says whether a function may be called.
func (r *rules) function(n engine.Name) bool {
	switch {
	case r.functions[n]:
		return true
	case n.Schema == "":
		return functions[n.Name] && !r.UserFunctions[n.Name]
	}
	return n.Schema == catalogSchema && functions[n.Name]
}

// operator says whether an operator may be used.
func (r *rules) operator(n engine.Name) bool {
	if n.Schema == "" {
		return operators[n.Name] && !r.UserOperators[n.Name]
	}
	return n.Schema == catalogSchema && operators[n.Name]
}

// dataType says whether a type may be cast to.
func (r *rules) dataType(n engine.Name) bool {
	if n.Schema == "" || n.Schema == catalogSchema {
		return types[n.Name] || r.types[n]
	}
	return r.types[n]
}

// field says whether name may be taken from a row. column is false behind an
// expression, which may be of any type.
func (r *rules) field(name string, column bool) bool {
	switch {
	case r.Columns[name], r.function(engine.Name{Name: name}):
		return true
	case r.RowFunctions == nil:
		return column
	}
	return !r.RowFunctions[name] && !r.UserFunctions[name]
}
