// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package guard judges statements for MySQL and MariaDB by their text alone,
// before a server sees them. It allows what it knows: one statement that reads,
// made of nodes, functions and types on lists, from tables on a list. Whatever
// else a parser may come to understand is refused.
//
// The parser is not the server's. Where the two could read one text
// differently, the text is refused before it is parsed (lex.go), or what runs
// is made of the tree that was judged (Policy.Strip).
package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sqlc-dev/marino/ast"
	"github.com/sqlc-dev/marino/parser"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// Policy is what statements may do.
type Policy struct {
	// Tables may be read. A name without a schema is one of Database.
	Tables []engine.Name
	// All permits every table of Database, and none of others.
	All bool
	// Database is where names without a database are looked for.
	Database string
	// Functions are stored or further functions that may be called, as name or
	// database.name.
	Functions []string
	// Strip runs the text without its comments instead of refusing them.
	Strip bool
	// FoldNames is for servers with lower_case_table_names other than 0.
	FoldNames bool
	// SQLMode is the sql_mode of the sessions that statements run in.
	SQLMode string
}

// Guard judges statements. It is safe for concurrent use.
type Guard struct {
	policy    Policy
	modes     modes
	tables    map[engine.Name]bool
	functions map[engine.Name]bool
	parsers   sync.Pool
	verdicts  engine.Memory
}

// New makes a guard.
func New(p Policy) (*Guard, error) {
	m, err := parseModes(p.SQLMode)
	if err != nil {
		return nil, err
	}
	g := &Guard{policy: p, modes: m, tables: map[engine.Name]bool{}, functions: map[engine.Name]bool{}}
	for _, name := range p.Tables {
		if name = g.table(name.Schema, name.Name); name.Schema == "" || name.Name == "" {
			return nil, fmt.Errorf("allowed_tables: %q needs a database, as in database.table, because the connection has none", name.Name)
		}
		g.tables[name] = true
	}
	if p.All && p.Database == "" {
		return nil, errors.New("allowed_tables: * needs a connection with a database")
	}
	for _, text := range p.Functions {
		name, err := engine.ParseName(text)
		if err != nil {
			return nil, fmt.Errorf("allowed_functions: %q: %w", text, err)
		}
		g.functions[g.function(name.Schema, name.Name)] = true
	}
	g.parsers.New = func() any {
		p := parser.New()
		p.SetSQLMode(m.parser)
		p.SetMariaDB(true)
		return p
	}
	return g, nil
}

// Judge says what a statement reads, or why it may not run.
func (g *Guard) Judge(sql string) (*engine.Verdict, error) {
	if v := g.verdicts.Find(sql); v != nil {
		return v, nil
	}
	v, err := g.judge(sql)
	if err != nil {
		return nil, err
	}
	g.verdicts.Keep(sql, &v.Verdict)
	return &v.Verdict, nil
}

func (g *Guard) judge(sql string) (*verdict, error) {
	if len(sql) > engine.MaxSQLBytes {
		return nil, engine.ConstructNotAllowed(fmt.Sprintf("a statement of more than %d bytes", engine.MaxSQLBytes))
	}
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return nil, engine.Syntax(fmt.Sprintf("a statement holds no NUL byte (offset %d)", i))
	}
	if !utf8.ValidString(sql) {
		return nil, engine.Syntax("a statement is valid UTF-8")
	}
	l, err := scan(sql, g.modes)
	if err != nil {
		return nil, err
	}
	if l.comment >= 0 && !g.policy.Strip {
		return nil, engine.Comment(l.comment)
	}
	if l.second >= 0 {
		return nil, engine.MultipleStatements(l.second)
	}
	v, tree, err := g.read(sql)
	if err != nil {
		return nil, err
	}
	if l.comment < 0 {
		return v, nil
	}
	return g.strip(v, tree)
}

// strip makes the text that runs of the tree that was judged, and judges it
// again: what it does has to be the same.
func (g *Guard) strip(v *verdict, tree ast.StmtNode) (*verdict, error) {
	text, err := render(tree, g.modes)
	if err != nil {
		return nil, engine.ConstructNotAllowed("a comment in a statement that cannot be written without it")
	}
	again, err := g.judge(text)
	if err != nil || !again.equal(v) {
		return nil, engine.ConstructNotAllowed("a comment in a statement that cannot be written without it")
	}
	return again, nil
}

// read parses and judges a text that the lexer let pass.
func (g *Guard) read(sql string) (*verdict, ast.StmtNode, error) {
	tree, err := g.parse(sql)
	if err != nil {
		return nil, nil, err
	}
	switch tree.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
	default:
		return nil, nil, engine.NotSelect(firstWord(sql))
	}
	j := &judge{guard: g, tables: map[engine.Name]bool{}, functions: map[string]bool{}}
	if err := j.statement(tree); err != nil {
		return nil, nil, err
	}
	v := j.verdict()
	v.SQL = sql
	return v, tree, nil
}

// parse reads exactly one statement. A panic of the parser is an error in the
// statement, as far as anybody can tell.
func (g *Guard) parse(sql string) (tree ast.StmtNode, err error) {
	defer func() {
		if recover() != nil {
			tree, err = nil, syntax(sql)
		}
	}()
	p, ok := g.parsers.Get().(*parser.Parser)
	if !ok {
		return nil, syntax(sql)
	}
	stmts, _, err := p.ParseSQL(sql, parser.CharsetConnection("utf8mb4"), parser.CollationConnection("utf8mb4_bin"))
	if err != nil {
		return nil, syntax(sql)
	}
	g.parsers.Put(p) // one that panicked or failed is not used again
	switch len(stmts) {
	case 1:
		return stmts[0], nil
	case 0:
		return nil, engine.Syntax("the statement is empty")
	}
	return nil, engine.MultipleStatements(stmts[1].OriginTextPosition())
}

// syntax refuses what does not parse. Most of what is no SELECT at all is in
// another dialect of the parser, so its first word says more than the place.
func syntax(sql string) error {
	word := firstWord(sql)
	switch word {
	case "", "SELECT", "WITH", "VALUES", "TABLE":
		return engine.Syntax("syntax error: this is not a statement of MySQL or MariaDB that reads")
	}
	return engine.NotSelect(word)
}

func firstWord(sql string) string {
	sql = strings.TrimLeft(sql, "( \t\r\n\v\f")
	end := strings.IndexFunc(sql, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(sql)
	}
	return strings.ToUpper(sql[:end])
}

// table is the tuple of a table as names are compared.
func (g *Guard) table(database, name string) engine.Name {
	if database == "" {
		database = g.policy.Database
	}
	return engine.Name{Schema: g.fold(database), Name: g.fold(name)}
}

// function is the tuple of a function; names of functions have no case.
func (g *Guard) function(database, name string) engine.Name {
	if database == "" {
		database = g.policy.Database
	}
	return engine.Name{Schema: g.fold(database), Name: foldASCII(name)}
}

func (g *Guard) mayRead(t engine.Name) bool {
	return g.tables[t] || g.policy.All && t.Schema == g.fold(g.policy.Database)
}

func (g *Guard) fold(name string) string {
	if !g.policy.FoldNames {
		return name
	}
	return foldASCII(name)
}

// foldASCII leaves other alphabets as they are: servers differ in how they fold
// them, and a name that is not found is refused.
func foldASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// verdict is an engine.Verdict with what makes two statements the same.
type verdict struct {
	engine.Verdict
	shape []string
}

func (v *verdict) equal(o *verdict) bool {
	return slices.Equal(v.Tables, o.Tables) && slices.Equal(v.Functions, o.Functions) &&
		v.Params == o.Params && slices.Equal(v.shape, o.shape)
}
