// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// checkProgram looks at the program that SQLite has made of a statement: what
// it opens must belong to the tables that the authorizer let pass. It is the
// last word, and does not depend on names, scopes or contexts.
func (c *conn) checkProgram(sql string, seen *verdict) error {
	c.guard.phase = phaseJudge
	s, _, err := c.sqlite.Prepare("EXPLAIN " + sql)
	c.guard.phase = phaseTrusted
	if err != nil {
		return err
	}
	defer s.Close()
	const (
		opcode = 1
		p2     = 3 // root page
		p3     = 4 // database
	)
	for s.Step() {
		switch string(s.ColumnRawText(opcode)) {
		case "OpenRead", "ReopenIdx":
			owner, ok := c.guard.catalog.roots[s.ColumnInt64(p2)]
			if !ok || s.ColumnInt64(p3) != 0 || !seen.reads[owner] {
				return engine.TableNotAllowed("")
			}
		case "OpenWrite", "Clear", "Destroy", "CreateBtree", "ParseSchema", "SqlExec", "VUpdate",
			"VCreate", "VDestroy", "VRename", "Vacuum", "IncrVacuum", "JournalMode", "Checkpoint",
			"SetCookie", "DropTable", "DropIndex", "DropTrigger":
			return engine.ConstructNotAllowed("a statement that changes something")
		}
	}
	return s.Err()
}

// prepare judges a statement and prepares it, within a transaction: what is
// judged and what is compiled must be of one schema.
func (c *conn) prepare(shape *shape) (*statement, error) {
	if err := c.refreshCatalog(); err != nil {
		return nil, err
	}
	if err := c.checkDefinitions(shape); err != nil {
		return nil, err
	}
	seen := newVerdict(shape.ctes)
	var err error
	if seen.plain, err = c.trial(shape); err != nil {
		return nil, err
	}
	c.guard.seen, c.guard.phase = seen, phaseJudge
	s, tail, err := c.sqlite.Prepare(shape.sql)
	c.guard.phase = phaseTrusted
	if err != nil {
		return nil, c.refusal(err, shape, seen)
	}
	if err := c.checkPrepared(s, tail, shape, seen); err != nil {
		_ = s.Close()
		return nil, err
	}
	return newStatement(shape.sql, s), nil
}

// checkDefinitions refuses a CTE that takes the name of a listed view: the
// authorizer names both alike.
func (c *conn) checkDefinitions(s *shape) error {
	cat := c.guard.catalog
	for _, t := range s.tokens {
		name := fold(t.text)
		if s.ctes[name] && cat.allowed[name] && cat.objects[name].kind == engine.KindView {
			return engine.ConstructNotAllowed("a CTE or window with the name of the listed view " + t.text)
		}
	}
	return nil
}

func (c *conn) checkPrepared(s *sqlite3.Stmt, tail string, shape *shape, seen *verdict) error {
	if s == nil {
		return engine.Syntax("the statement is empty")
	}
	rest, err := lex(tail)
	for _, t := range rest {
		if !t.is(";") {
			err = engine.MultipleStatements(len(shape.sql) - len(tail) + t.start)
		}
	}
	if err != nil {
		return err
	}
	if !s.ReadOnly() {
		return engine.NotSelect("a statement that writes")
	}
	if s.ColumnCount() == 0 {
		return engine.NotSelect("a statement without a result")
	}
	return c.checkProgram(shape.sql, seen)
}
