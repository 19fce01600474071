// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// The server's own opinion. With debug_print_rewritten it tells, when a statement
// is parsed and before anything is planned or run, which relations and functions
// the statement means, those within views and behind operators included. It sees
// by OID what a parser sees by name.

var (
	relidPattern = regexp.MustCompile(`:relid (\d+)`)
	funcPattern  = regexp.MustCompile(`:(?:funcid|opfuncid|aggfnoid|winfnoid) (\d+)`)
)

var errSilent = errors.New("the server does not tell what a statement means")

// verifyOn asks the server what a judged statement means, and holds it against
// what is allowed.
func (d *DB) verifyOn(ctx context.Context, c *conn, v *engine.Verdict) error {
	tree, err := c.rewritten(ctx, d.opening(), v.SQL)
	if err != nil {
		return err
	}
	c.reset()
	if c.spent {
		return errUnclean
	}
	relations, err := d.relations(ctx, c)
	if err != nil {
		return err
	}
	if err := c.verifyTables(ctx, oids(relations), numbers(relidPattern, tree)); err != nil {
		return err
	}
	return d.verifyFunctions(ctx, c, oids(relations), numbers(funcPattern, tree), v)
}

// numbers are what a pattern finds, each once. 0 is none.
func numbers(p *regexp.Regexp, tree string) []string {
	var list []string
	for _, m := range p.FindAllStringSubmatch(tree, -1) {
		if m[1] != "0" {
			list = append(list, m[1])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rewritten has the server parse a statement and say what became of it.
func (c *conn) rewritten(ctx context.Context, opening []string, sql string) (string, error) {
	c.keep, c.notices = true, nil
	defer func() { c.keep, c.notices = false, nil }()
	r := &reading{}
	err := c.within(ctx, func() error {
		f := c.pg.Frontend()
		for _, own := range append(slices.Clone(opening), "SET LOCAL client_min_messages = log", "SET LOCAL debug_pretty_print = off", "SET LOCAL debug_print_rewritten = on") {
			f.SendParse(&pgproto3.Parse{Query: own})
			f.SendBind(&pgproto3.Bind{})
			f.SendExecute(&pgproto3.Execute{})
		}
		f.SendParse(&pgproto3.Parse{Query: sql})
		f.SendSync(&pgproto3.Sync{})
		if err := f.Flush(); err != nil {
			return err
		}
		return r.receive(c)
	})
	switch {
	case err != nil:
		return "", err
	case r.failure != nil:
		return "", r.failure
	}
	var trees []string
	for _, n := range c.notices {
		if strings.HasPrefix(n, "rewritten parse tree") {
			trees = append(trees, n)
		}
	}
	if len(trees) == 0 {
		c.spent = true
		return "", errSilent
	}
	return strings.Join(trees, "\n"), nil
}

// viewsSQL begins with everything that rules of listed views refer to, whatever
// it takes to get there.
const viewsSQL = `
WITH RECURSIVE within(classid, objid) AS (
	SELECT 'pg_class'::regclass::oid, o FROM unnest($1::oid[]) AS o
	UNION
	SELECT d.refclassid, d.refobjid FROM within w
	JOIN pg_catalog.pg_rewrite r ON w.classid = 'pg_class'::regclass AND r.ev_class = w.objid
	JOIN pg_catalog.pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
)`

const foreignTablesSQL = viewsSQL + `
SELECT t FROM unnest($2::oid[]) AS t
WHERE NOT EXISTS (SELECT FROM within WHERE classid = 'pg_class'::regclass AND objid = t) LIMIT 1`

func (c *conn) verifyTables(ctx context.Context, allowed string, read []string) error {
	rows, err := c.own(ctx, foreignTablesSQL, allowed, arrayOf(read))
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return engine.TableNotAllowed("")
	}
	return nil
}

// foreignFunctionsSQL has functions that are neither harmless by being the
// system's and not volatile, nor named by the statement or the operator, nor used
// by a listed view.
const foreignFunctionsSQL = viewsSQL + `
SELECT p.proname FROM unnest($2::oid[]) AS f JOIN pg_catalog.pg_proc p ON p.oid = f
WHERE NOT (p.pronamespace = 'pg_catalog'::regnamespace AND p.provolatile <> 'v')
	AND NOT (p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY ($3))
	AND NOT p.proname = ANY ($4)
	AND NOT EXISTS (SELECT FROM within WHERE classid = 'pg_proc'::regclass AND objid = f)
LIMIT 1`

func (d *DB) verifyFunctions(ctx context.Context, c *conn, allowed string, called []string, v *engine.Verdict) error {
	own := make([]string, 0, len(d.calls))
	for f := range d.calls {
		own = append(own, f[strings.LastIndexByte(f, '.')+1:])
	}
	named := make([]string, len(v.Functions))
	for i, f := range v.Functions {
		named[i] = strings.TrimPrefix(f, "pg_catalog.")
	}
	rows, err := c.own(ctx, foreignFunctionsSQL, allowed, arrayOf(called), arrayOf(named), arrayOf(own))
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return engine.FunctionNotAllowed(rows[0][0])
	}
	return nil
}
