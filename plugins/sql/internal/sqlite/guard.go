// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// phase is what a connection is doing while SQLite asks its authorizer.
type phase uint8

const (
	// phaseTrusted: our own statements.
	phaseTrusted phase = iota
	// phaseRecord: a listed view is compiled, to learn what it reads.
	phaseRecord
	// phaseTrial: names are tried out; nothing of it is ever run.
	phaseTrial
	// phaseJudge: the caller's statement is compiled.
	phaseJudge
	// phaseRun: a judged statement runs. Nothing is compiled then, but for what
	// full-text search asks of its own tables, and a statement that SQLite
	// compiles again because the schema has changed: that one has to be judged
	// again.
	phaseRun
)

// guard answers SQLite's authorizer for one connection.
type guard struct {
	phase   phase
	catalog *catalog
	seen    *verdict        // phaseRecord, phaseJudge
	stale   bool            // phaseRun: the statement was compiled again
	added   map[string]bool // functions that the operator allows, folded
}

// callable says whether a statement may call function.
func (g *guard) callable(function string) bool {
	name := fold(function)
	return functions[name] || g.added[name]
}

// verdict is what was seen while one statement was compiled.
type verdict struct {
	ctes map[string]bool
	// plain: the caller's text uses no unlisted name as a table, so that an
	// unlisted table can only come from within a listed view.
	plain bool

	reads     map[string]bool // tables that may be opened
	contexts  map[string]bool // views and CTEs within views that were entered
	recording recording
	functions map[string]bool // what the caller's own text calls

	denied      error
	deniedTable string // folded, if denied is nil
}

// recording is what listed views read, by the name of the innermost view or
// CTE.
type recording struct {
	reads, functions map[string]map[string]bool
}

func newVerdict(ctes map[string]bool) *verdict {
	return &verdict{ctes: ctes, reads: map[string]bool{}, contexts: map[string]bool{}, functions: map[string]bool{}}
}

func (v *verdict) deny(err error) sqlite3.AuthorizerReturnCode {
	if v.denied == nil {
		v.denied = err
	}
	return sqlite3.AUTH_DENY
}

// authorize is called by SQLite. The arguments depend on the action; inner is
// the innermost view or CTE that the access is made for.
func (g *guard) authorize(action sqlite3.AuthorizerActionCode, name, detail, schema, inner string) sqlite3.AuthorizerReturnCode {
	switch g.phase {
	case phaseTrusted:
		return sqlite3.AUTH_OK
	case phaseRecord:
		g.seen.recording.add(action, name, detail, inner)
		return sqlite3.AUTH_OK
	case phaseTrial:
		switch action {
		case sqlite3.AUTH_SELECT, sqlite3.AUTH_READ, sqlite3.AUTH_FUNCTION, sqlite3.AUTH_RECURSIVE:
			return sqlite3.AUTH_OK
		}
		return sqlite3.AUTH_DENY
	case phaseJudge:
		return g.judge(action, name, detail, schema, inner)
	case phaseRun:
		return g.run(action, name, detail)
	}
	return sqlite3.AUTH_DENY
}

func (r *recording) add(action sqlite3.AuthorizerActionCode, name, detail, inner string) {
	if inner == "" {
		return
	}
	note := func(in *map[string]map[string]bool, what string) {
		if *in == nil {
			*in = map[string]map[string]bool{}
		}
		if (*in)[fold(inner)] == nil {
			(*in)[fold(inner)] = map[string]bool{}
		}
		(*in)[fold(inner)][fold(what)] = true
	}
	switch action {
	case sqlite3.AUTH_READ:
		note(&r.reads, name)
	case sqlite3.AUTH_FUNCTION:
		note(&r.functions, detail)
	}
}

func (g *guard) judge(action sqlite3.AuthorizerActionCode, name, detail, schema, inner string) sqlite3.AuthorizerReturnCode {
	switch action {
	case sqlite3.AUTH_SELECT, sqlite3.AUTH_RECURSIVE:
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_FUNCTION:
		if g.trusts(inner) && g.catalog.views.functions[fold(inner)][fold(detail)] {
			return sqlite3.AUTH_OK
		}
		if g.callable(detail) {
			g.seen.functions[fold(detail)] = true
			return sqlite3.AUTH_OK
		}
		return g.seen.deny(engine.FunctionNotAllowed(detail))
	case sqlite3.AUTH_READ:
		return g.read(fold(name), detail, schema, fold(inner))
	case sqlite3.AUTH_INSERT:
		return g.seen.deny(engine.NotSelect("INSERT"))
	case sqlite3.AUTH_UPDATE:
		return g.seen.deny(engine.NotSelect("UPDATE"))
	case sqlite3.AUTH_DELETE:
		return g.seen.deny(engine.NotSelect("DELETE"))
	}
	return g.seen.deny(engine.ConstructNotAllowed("this construct"))
}

// trusts says whether inner can only be a listed view, or a view or CTE within
// one. The name alone does not say so: a caller may give it to a CTE of its
// own, in which case the text must have passed the naming trial.
func (g *guard) trusts(inner string) bool {
	return inner != "" && (g.seen.plain || !g.seen.ctes[fold(inner)])
}

// read judges the reading of a column of table. SQLite reports an empty column
// for a table of which no column is named, as in count(*); such reports may
// also be about a CTE, and come without the view that they are made for.
func (g *guard) read(table, column, schema, inner string) sqlite3.AuthorizerReturnCode {
	c, v := g.catalog, g.seen
	switch {
	case schema != "" && schema != "main":
		// The schema of temporary tables; there is no other.
	case c.allowed[table]:
		v.reads[table] = true
		if _, ok := c.views.reads[table]; ok {
			v.contexts[table] = true
		}
		return sqlite3.AUTH_OK
	case g.trusts(inner) && c.views.reads[inner][table]:
		v.reads[table], v.contexts[inner] = true, true
		return sqlite3.AUTH_OK
	case modules[table] && !c.exists(table):
		v.functions[table] = true
		return sqlite3.AUTH_OK
	case column == "" && v.plain && c.views.readsWithin(v.contexts, table):
		v.reads[table] = true
		return sqlite3.AUTH_OK
	case v.plain && c.searched[table]:
		// A full-text table reads its settings while a statement is compiled. It is
		// not the statement that reads: the program shows that.
		return sqlite3.AUTH_OK
	case column == "" && v.ctes[table]:
		// Perhaps the CTE, perhaps the table. The program tells: the table is
		// not among what may be opened.
		return sqlite3.AUTH_OK
	}
	if v.denied == nil && v.deniedTable == "" {
		v.deniedTable = table
	}
	return sqlite3.AUTH_DENY
}

// run judges what is compiled while a judged statement runs.
func (g *guard) run(action sqlite3.AuthorizerActionCode, name, detail string) sqlite3.AuthorizerReturnCode {
	switch action {
	case sqlite3.AUTH_SELECT:
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_FUNCTION:
		if g.callable(detail) {
			return sqlite3.AUTH_OK
		}
	case sqlite3.AUTH_PRAGMA:
		if name == "data_version" {
			return sqlite3.AUTH_OK
		}
	case sqlite3.AUTH_READ:
		// A full-text table reads itself to sort by rank, and then no column but
		// these; a statement of ours that names no other is the same after a
		// change of the schema.
		name, column := fold(name), fold(detail)
		own := column == "rowid" || column == "rank" || column == name
		if g.catalog.searched[name] || g.catalog.fullText[name] && own {
			return sqlite3.AUTH_OK
		}
	}
	g.stale = true
	return sqlite3.AUTH_DENY
}

// readsWithin says whether one of contexts reads table.
func (r *recording) readsWithin(contexts map[string]bool, table string) bool {
	for c := range contexts {
		if r.reads[c][table] {
			return true
		}
	}
	return false
}
