// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"strings"

	tree "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// Guard judges statements by one policy. It is safe for concurrent use.
type Guard struct {
	rules  *rules
	memory memory
}

// New makes the guard of a policy. An error names an entry that is no name.
func New(p Policy) (*Guard, error) {
	r, err := compile(p)
	if err != nil {
		return nil, err
	}
	return &Guard{rules: r}, nil
}

// WithCatalog is the same guard with another Policy.RowFunctions and
// Policy.Columns. It remembers no verdict of g.
func (g *Guard) WithCatalog(rowFunctions, columns map[string]bool) *Guard {
	return &Guard{rules: g.rules.withCatalog(rowFunctions, columns)}
}

// Judge says what a statement reads and calls, or why it may not. The verdict's
// slices are shared and not to be changed. Tables of the default schema are
// without it.
func (g *Guard) Judge(ctx context.Context, sql string) (*engine.Verdict, error) {
	if v := g.memory.find(sql); v != nil {
		return v, nil
	}
	v, err := g.judge(ctx, sql)
	if err != nil {
		return nil, err
	}
	g.memory.keep(sql, v)
	return v, nil
}

func (g *Guard) judge(ctx context.Context, sql string) (*engine.Verdict, error) {
	comment, err := lex(sql)
	switch {
	case err != nil:
		return nil, err
	case comment >= 0 && !g.rules.Strip:
		return nil, engine.Comment(comment)
	}
	parsed, err := parse(ctx, sql)
	if err != nil {
		return nil, err
	}
	v, err := g.judgeTree(sql, parsed)
	if err != nil || comment < 0 {
		return v, err
	}
	return g.strip(ctx, parsed)
}

// judgeTree judges what the parser made of sql.
func (g *Guard) judgeTree(sql string, parsed *tree.ParseResult) (*engine.Verdict, error) {
	switch len(parsed.Stmts) {
	case 0:
		return nil, engine.Syntax("there is no statement")
	case 1:
	default:
		return nil, engine.MultipleStatements(startOf(sql, int(parsed.Stmts[1].StmtLocation)))
	}
	node := parsed.Stmts[0].Stmt
	if node.GetSelectStmt() == nil {
		return nil, engine.NotSelect(statementKind(node))
	}
	j := newJudge(g.rules)
	if err := j.message(node.ProtoReflect(), nil); err != nil {
		return nil, err
	}
	return j.verdict(sql), nil
}

// strip makes a text without comments of a tree, and judges that: it is what
// runs.
func (g *Guard) strip(ctx context.Context, parsed *tree.ParseResult) (*engine.Verdict, error) {
	text, err := deparse(ctx, parsed)
	if err != nil {
		return nil, engine.ConstructNotAllowed("a comment in such a statement")
	}
	if comment, err := lex(text); err != nil || comment >= 0 {
		return nil, engine.ConstructNotAllowed("a comment in such a statement")
	}
	again, err := parse(ctx, text)
	if err != nil {
		return nil, err
	}
	// Fingerprints would not do: they are the same for all literals.
	withoutPlaces(parsed.ProtoReflect())
	reference := proto.Clone(again)
	withoutPlaces(reference.ProtoReflect())
	if !proto.Equal(parsed, reference) {
		return nil, engine.ConstructNotAllowed("a comment in such a statement")
	}
	return g.judgeTree(text, again)
}

// withoutPlaces forgets where in the text the parts of a tree stand.
func withoutPlaces(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Name() == "location", f.Name() == "stmt_location", f.Name() == "stmt_len":
			m.Clear(f)
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				withoutPlaces(v.List().Get(i).Message())
			}
		default:
			withoutPlaces(v.Message())
		}
		return true
	})
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
