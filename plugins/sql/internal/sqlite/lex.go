// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// tokenKind is what a token is to SQLite's tokenizer, as far as it matters
// here.
type tokenKind uint8

const (
	tokenWord   tokenKind = iota // keyword or bare identifier
	tokenQuoted                  // "x", `x` or [x]
	tokenString                  // 'x'; SQLite takes it as an identifier where only one can stand
	tokenOther                   // number, blob, parameter, operator
)

// token is one token; text is without quotes.
type token struct {
	kind       tokenKind
	start, end int
	text       string
}

// is says whether t is the keyword or operator s, which is upper case.
func (t token) is(s string) bool {
	return (t.kind == tokenWord || t.kind == tokenOther) && len(t.text) == len(s) && upper(t.text) == s
}

// mayName says whether t may be the name of something.
func (t token) mayName() bool { return t.kind != tokenOther }

// maxDepth is how deep parentheses may be nested.
const maxDepth = 200

// lex splits sql into tokens as SQLite does (tokenize.c), and refuses what no
// reader needs and what one could be misled by. Comments are such: whoever
// checks a statement by eye, or with another lexer, may see another statement.
func lex(sql string) ([]token, error) {
	switch {
	case len(sql) > engine.MaxSQLBytes:
		return nil, engine.Syntax(fmt.Sprintf("the statement has %d bytes, the limit is %d", len(sql), engine.MaxSQLBytes))
	case !utf8.ValidString(sql):
		return nil, engine.Syntax("the statement is not valid UTF-8")
	}
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return nil, engine.Syntax(fmt.Sprintf("the statement has a NUL character (offset %d)", i))
	}
	l := lexer{sql: sql, tokens: make([]token, 0, len(sql)/4+1)}
	for l.pos < len(sql) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	return l.tokens, nil
}

// lexSchema splits what the schema has of an object: as far as it goes, and
// without its comments.
func lexSchema(sql string) []token {
	l := lexer{sql: sql, comments: true}
	for l.pos < len(sql) && l.next() == nil {
	}
	return l.tokens
}

type lexer struct {
	sql      string
	comments bool // skipped rather than refused
	pos      int
	depth    int
	tokens   []token
}

func (l *lexer) next() error {
	c := l.sql[l.pos]
	following := byte(0)
	if l.pos+1 < len(l.sql) {
		following = l.sql[l.pos+1]
	}
	switch {
	case isSpace(c):
		l.pos++
	case c == '-' && following == '-', c == '/' && following == '*':
		return l.comment(c)
	case c == '\'':
		return l.quoted(tokenString, c)
	case c == '"', c == '`':
		return l.quoted(tokenQuoted, c)
	case c == '[':
		return l.bracketed()
	case (c == 'x' || c == 'X') && following == '\'':
		return l.blob()
	case isIdentStart(c):
		return l.word()
	case isDigit(c), c == '.' && isDigit(following):
		l.number()
	case c == '?', c == ':', c == '@', c == '$':
		return l.parameter()
	case c == '#':
		return engine.ConstructNotAllowed(fmt.Sprintf("# (offset %d)", l.pos))
	default:
		return l.operator(c)
	}
	return nil
}

func (l *lexer) emit(kind tokenKind, end int, text string) {
	l.tokens = append(l.tokens, token{kind: kind, start: l.pos, end: end, text: text})
	l.pos = end
}

// quoted reads a token in quotes of one kind, where doubled quotes stand for
// one.
func (l *lexer) quoted(kind tokenKind, quote byte) error {
	for i := l.pos + 1; i < len(l.sql); i++ {
		if l.sql[i] != quote {
			continue
		}
		if i+1 < len(l.sql) && l.sql[i+1] == quote {
			i++
			continue
		}
		q := string(quote)
		l.emit(kind, i+1, strings.ReplaceAll(l.sql[l.pos+1:i], q+q, q))
		return nil
	}
	return l.unterminated()
}

func (l *lexer) comment(c byte) error {
	if !l.comments {
		return engine.Comment(l.pos)
	}
	end, closed := "\n", 1
	if c == '/' {
		end, closed = "*/", 2
	}
	i := strings.Index(l.sql[l.pos+2:], end)
	if i < 0 {
		l.pos = len(l.sql)
		return nil
	}
	l.pos += 2 + i + closed
	return nil
}

func (l *lexer) bracketed() error {
	i := strings.IndexByte(l.sql[l.pos:], ']')
	if i < 0 {
		return l.unterminated()
	}
	l.emit(tokenQuoted, l.pos+i+1, l.sql[l.pos+1:l.pos+i])
	return nil
}

func (l *lexer) blob() error {
	i := strings.IndexByte(l.sql[l.pos+2:], '\'')
	if i < 0 {
		return l.unterminated()
	}
	end := l.pos + 2 + i + 1
	l.emit(tokenOther, end, l.sql[l.pos:end])
	return nil
}

func (l *lexer) word() error {
	// SQLite skips a byte order mark in front of a token, which would make two
	// spellings of one name.
	if strings.HasPrefix(l.sql[l.pos:], "\uFEFF") {
		return engine.ConstructNotAllowed(fmt.Sprintf("a byte order mark (offset %d)", l.pos))
	}
	end := l.pos + 1
	for end < len(l.sql) && isIdent(l.sql[end]) {
		end++
	}
	l.emit(tokenWord, end, l.sql[l.pos:end])
	return nil
}

// number reads a number and whatever is stuck to it; SQLite refuses the latter.
func (l *lexer) number() {
	end := l.pos + 1
	for end < len(l.sql) && (isIdent(l.sql[end]) || l.sql[end] == '.') {
		end++
	}
	l.emit(tokenOther, end, l.sql[l.pos:end])
}

// parameter reads ?, ?1, :name, @name and $name. The Tcl forms $a::b and $a(b)
// may hold anything and are refused.
func (l *lexer) parameter() error {
	within := isIdent
	if l.sql[l.pos] == '?' {
		within = isDigit
	}
	end := l.pos + 1
	for end < len(l.sql) && within(l.sql[end]) {
		end++
	}
	if rest := l.sql[end:]; l.sql[l.pos] != '?' && (strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, "(")) {
		return engine.ConstructNotAllowed(fmt.Sprintf("a parameter with :: or parentheses in its name (offset %d)", l.pos))
	}
	l.emit(tokenOther, end, l.sql[l.pos:end])
	return nil
}

func (l *lexer) operator(c byte) error {
	switch c {
	case '(':
		if l.depth++; l.depth > maxDepth {
			return engine.Syntax(fmt.Sprintf("parentheses are nested deeper than %d (offset %d)", maxDepth, l.pos))
		}
	case ')':
		l.depth--
	}
	l.emit(tokenOther, l.pos+1, l.sql[l.pos:l.pos+1])
	return nil
}

func (l *lexer) unterminated() error {
	return engine.Syntax(fmt.Sprintf("unterminated %s (offset %d)", l.sql[l.pos:l.pos+1], l.pos))
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isIdentStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

func isIdent(c byte) bool { return isIdentStart(c) || isDigit(c) || c == '$' }

// fold makes names comparable as SQLite compares them: ASCII letters only.
// Unicode folding would take the Kelvin sign for a k.
func fold(s string) string {
	return flipCase(s, 'A', 'Z')
}

func upper(s string) string {
	return flipCase(s, 'a', 'z')
}

// flipCase changes the case of the letters between from and to.
func flipCase(s string, from, to byte) string {
	for i := range len(s) {
		if s[i] < from || s[i] > to {
			continue
		}
		b := []byte(s)
		for ; i < len(b); i++ {
			if b[i] >= from && b[i] <= to {
				b[i] ^= 'a' ^ 'A'
			}
		}
		return string(b)
	}
	return s
}
