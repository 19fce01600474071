// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"strings"

	tree "github.com/pganalyze/pg_query_go/v6"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// Guard judges statements by one policy. It is safe for concurrent use.
type Guard struct {
	rules  *rules
	memory engine.Memory
}

// New makes the guard of a policy. An error names an entry that is no name.
func New(p Policy) (*Guard, error) {
	r, err := compile(p)
	if err != nil {
		return nil, err
	}
	return &Guard{rules: r}, nil
}

// Judge says what a statement reads and calls, or why it may not. Tables of the
// default schema are without it.
func (g *Guard) Judge(ctx context.Context, sql string) (*engine.Verdict, error) {
	if v := g.memory.Find(sql); v != nil {
		return v, nil
	}
	v, err := g.judge(ctx, sql)
	if err != nil {
		return nil, err
	}
	g.memory.Keep(sql, v)
	return v, nil
}

func (g *Guard) judge(ctx context.Context, sql string) (*engine.Verdict, error) {
	comments, err := lex(sql)
	switch {
	case err != nil:
		return nil, err
	case len(comments) > 0 && !g.rules.Strip:
		return nil, engine.Comment(comments[0].start)
	}
	sql = blank(sql, comments)
	parsed, err := parse(ctx, sql)
	if err != nil {
		return nil, err
	}
	return g.judgeTree(sql, parsed)
}

// judgeTree judges what the parser made of sql.
func (g *Guard) judgeTree(sql string, parsed *tree.ParseResult) (*engine.Verdict, error) {
	switch len(parsed.GetStmts()) {
	case 0:
		return nil, engine.Syntax("there is no statement")
	case 1:
	default:
		return nil, engine.MultipleStatements(startOf(sql, int(parsed.GetStmts()[1].GetStmtLocation())))
	}
	node := parsed.GetStmts()[0].GetStmt()
	if node.GetSelectStmt() == nil {
		return nil, engine.NotSelect(statementKind(node))
	}
	j := newJudge(g.rules)
	if err := j.message(node.ProtoReflect(), nil); err != nil {
		return nil, err
	}
	return j.verdict(sql), nil
}

// blank is sql with a blank for each byte of a comment. A comment is a blank to
// PostgreSQL, so that nothing else changes, offsets included; and what is
// judged is what runs. The parser's own way from a tree to a text is of no use
// here: it writes over the parser's memory for an expression a hundred deep.
func blank(sql string, comments []span) string {
	if len(comments) == 0 {
		return sql
	}
	b := []byte(sql)
	for _, c := range comments {
		for i := c.start; i < c.end; i++ {
			if !isNewline(b[i]) {
				b[i] = ' '
			}
		}
	}
	return string(b)
}

// startOf is where a statement begins that follows at offset.
func startOf(sql string, offset int) int {
	for offset < len(sql) && (isSpace(sql[offset]) || sql[offset] == ';') {
		offset++
	}
	return offset
}

// statementKind is what a statement does that does not read: DELETE of
// pg_query.DeleteStmt.
func statementKind(n *tree.Node) string {
	f := n.ProtoReflect().WhichOneof(n.ProtoReflect().Descriptor().Oneofs().Get(0))
	if f == nil {
		return "something unknown"
	}
	return strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(string(f.Name()), "_stmt"), "_", " "))
}
