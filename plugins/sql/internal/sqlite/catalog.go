// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// catalog is what one version of the schema has, and what of it is listed. All
// names are folded.
type catalog struct {
	version  int64 // SQLite's schema cookie
	objects  map[string]object
	allowed  map[string]bool
	absent   map[string]bool  // listed, but not there
	views    recording        // what is read within listed views
	fullText map[string]bool  // full-text tables that may be read
	searched map[string]bool  // what these read to answer
	roots    map[int64]string // whose b-tree starts at a page
}

// object is one table or view.
type object struct {
	name string
	kind engine.Kind
	sql  string // of virtual tables
	// internal: SQLite's own tables and those that virtual tables keep their
	// data in; "*" does not mean them.
	internal bool
}

func (c *catalog) exists(name string) bool {
	_, ok := c.objects[name]
	return ok
}

// hidden says whether name is that of something that may not be read.
func (c *catalog) hidden(name string) bool { return c.exists(name) && !c.allowed[name] }

func (c *catalog) hasPrefix(prefix string) bool {
	for name := range c.objects {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// tables lists what may be read.
func (c *catalog) tables() []engine.Table {
	list := make([]engine.Table, 0, len(c.allowed))
	for name := range c.allowed {
		o := c.objects[name]
		list = append(list, engine.Table{Name: o.name, Kind: o.kind})
	}
	slices.SortFunc(list, func(a, b engine.Table) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// schemaTables are SQLite's names for the schema itself.
var schemaTables = []string{"sqlite_schema", "sqlite_master", "sqlite_temp_schema", "sqlite_temp_master"}

// loadCatalog reads the schema. It runs inside a transaction, so that all of
// it is of one version.
func (c *conn) loadCatalog(version int64) (*catalog, error) {
	cat := &catalog{
		version: version, objects: map[string]object{}, roots: map[int64]string{},
		allowed: map[string]bool{}, absent: map[string]bool{}, fullText: map[string]bool{}, searched: map[string]bool{},
	}
	for _, name := range schemaTables {
		cat.objects[name] = object{name: name, kind: engine.KindTable, internal: true}
	}
	if err := c.loadObjects(cat); err != nil {
		return nil, err
	}
	cat.list(c.db.tables)
	if err := c.loadViews(cat); err != nil {
		return nil, err
	}
	cat.loadSearched()
	return cat, nil
}

func (c *conn) loadObjects(cat *catalog) error {
	fullText := false
	err := c.each(`SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema`, func(s *sqlite3.Stmt) {
		kind, name, root := s.ColumnText(0), s.ColumnText(1), s.ColumnInt64(3)
		if root > 0 {
			cat.roots[root] = fold(s.ColumnText(2))
		}
		o := object{name: name, kind: engine.Kind(kind), internal: strings.HasPrefix(fold(name), "sqlite_")}
		switch {
		case kind == "table" && root == 0:
			o.kind, o.sql = engine.KindVirtual, s.ColumnText(4)
			fullText = fullText || usesModule(o.sql, "fts5")
		case kind != "table" && kind != "view":
			return
		}
		cat.objects[fold(name)] = o
	})
	if err != nil || !fullText {
		return err
	}
	if !c.fullText {
		if err := fts5.Register(c.sqlite); err != nil {
			return err
		}
		c.fullText = true
	}
	// Only with the module at hand does SQLite know which tables are its own.
	// The listing also connects the virtual tables, which read their settings
	// then rather than within a judged statement.
	return c.each(`PRAGMA main.table_list`, func(s *sqlite3.Stmt) {
		if name := fold(s.ColumnText(1)); s.ColumnText(2) == "shadow" {
			o := cat.objects[name]
			o.internal = true
			cat.objects[name] = o
		}
	})
}

// list marks what the configuration lists: names, names after "main.", or "*".
func (c *catalog) list(tables []string) {
	for _, entry := range tables {
		name := fold(entry)
		if entry == "*" {
			for name, o := range c.objects {
				if !o.internal {
					c.allowed[name] = true
				}
			}
			continue
		}
		if rest, ok := strings.CutPrefix(name, "main."); ok && !c.exists(name) {
			name = rest
		}
		switch {
		case strings.HasPrefix(name, "sqlite_"):
		case c.exists(name):
			c.allowed[name] = true
		default:
			c.absent[name] = true
		}
	}
}

// loadViews compiles each listed view to see what it reads. What a listed view
// reads may be read through it, and only through it.
func (c *conn) loadViews(cat *catalog) error {
	seen := newVerdict(nil)
	c.guard.seen = seen
	for name := range cat.allowed {
		if cat.objects[name].kind != engine.KindView {
			continue
		}
		c.guard.phase = phaseRecord
		s, _, err := c.sqlite.Prepare("SELECT * FROM " + sqlite3.QuoteIdentifier(cat.objects[name].name))
		c.guard.phase = phaseTrusted
		// A view that does not compile is refused when it is used.
		if err != nil && !errors.Is(err, sqlite3.ERROR) {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	cat.views = seen.recording
	return nil
}

// loadSearched finds the tables that full-text tables read by statements of
// their own while one of ours runs: their shadow tables, and the table that
// holds the text, if it is another one.
func (c *catalog) loadSearched() {
	for name, o := range c.objects {
		if o.kind != engine.KindVirtual || !usesModule(o.sql, "fts5") || !c.allowed[name] && !c.views.readsAnywhere(name) {
			continue
		}
		c.fullText[name] = true
		for _, suffix := range []string{"data", "idx", "content", "docsize", "config"} {
			c.searched[name+"_"+suffix] = true
		}
		if content := moduleOption(o.sql, "content"); content != "" {
			c.searched[fold(content)] = true
		}
	}
}

func (r *recording) readsAnywhere(table string) bool {
	for _, reads := range r.reads {
		if reads[table] {
			return true
		}
	}
	return false
}

// usesModule says whether sql, of a virtual table, is USING that module.
func usesModule(sql, module string) bool {
	tokens := lexSchema(sql)
	for i := range tokens {
		if tokens[i].is("USING") && i+1 < len(tokens) {
			return fold(tokens[i+1].text) == module
		}
	}
	return false
}

// moduleOption finds option = value among the arguments of a virtual table.
func moduleOption(sql, option string) string {
	tokens := lexSchema(sql)
	for i := range tokens {
		if fold(tokens[i].text) == option && i+2 < len(tokens) && tokens[i+1].is("=") && tokens[i+2].mayName() {
			return tokens[i+2].text
		}
	}
	return ""
}

// each runs a statement of our own.
func (c *conn) each(sql string, row func(*sqlite3.Stmt)) error {
	s, _, err := c.sqlite.Prepare(sql)
	if err != nil {
		return err
	}
	for s.Step() {
		row(s)
	}
	return cmp.Or(s.Err(), s.Close())
}
