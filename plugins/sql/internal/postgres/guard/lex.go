// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

const (
	// maxDepth is how deep parentheses and brackets may be nested.
	maxDepth = 200
	// maxLinks is how many words and operators a statement may have. The parser
	// nests without parentheses too (1+1+1, - - 1, UNION) and has a stack
	// that ends, at about 3000; lists of values do not count.
	maxLinks = 2000
)

// span is a part of a text.
type span struct{ start, end int }

// lex refuses what no reader needs and what could end the parser, and says
// where comments are. It splits a text as PostgreSQL does
// (scan.l), as far as that is needed to know a comment from a literal.
func lex(sql string) ([]span, error) {
	switch {
	case len(sql) > engine.MaxSQLBytes:
		return nil, engine.Syntax(fmt.Sprintf("the statement has %d bytes, the limit is %d", len(sql), engine.MaxSQLBytes))
	case !utf8.ValidString(sql):
		return nil, engine.Syntax("the statement is not valid UTF-8")
	}
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return nil, engine.Syntax(fmt.Sprintf("the statement has a NUL character (offset %d)", i))
	}
	l := lexer{sql: sql}
	for l.pos < len(sql) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	return l.comments, nil
}

type lexer struct {
	sql      string
	pos      int
	depth    int
	links    int
	comments []span
}

// at is the byte n behind the position, or 0.
func (l *lexer) at(n int) byte {
	if l.pos+n < len(l.sql) {
		return l.sql[l.pos+n]
	}
	return 0
}

func (l *lexer) next() error {
	c := l.at(0)
	switch {
	case isSpace(c), c == ',', c == ';', c == '.', isDigit(c):
		l.pos++
	case c == '-' && l.at(1) == '-':
		l.lineComment()
	case c == '/' && l.at(1) == '*':
		return l.blockComment()
	case c == '\'':
		return l.literal(1, false)
	case c == '"':
		return l.quotedName(1)
	case c == '$':
		return l.dollar()
	case c|0x20 == 'e' && l.at(1) == '\'':
		return l.literal(2, true)
	case c|0x20 == 'u' && l.at(1) == '&' && l.at(2) == '\'':
		return l.literal(3, false)
	case c|0x20 == 'u' && l.at(1) == '&' && l.at(2) == '"':
		return l.quotedName(3)
	case isWordStart(c):
		for l.pos < len(l.sql) && isWord(l.at(0)) {
			l.pos++
		}
		return l.link()
	default:
		return l.symbol(c)
	}
	return nil
}

func (l *lexer) symbol(c byte) error {
	start := l.pos
	l.pos++
	switch c {
	case '(', '[':
		if l.depth++; l.depth > maxDepth {
			return engine.Syntax(fmt.Sprintf("parentheses are nested deeper than %d (offset %d)", maxDepth, start))
		}
		return nil
	case ')', ']':
		l.depth--
		return nil
	}
	return l.link()
}

func (l *lexer) link() error {
	if l.links++; l.links > maxLinks {
		return engine.Syntax(fmt.Sprintf("the statement has more than %d words and operators; values can go into params", maxLinks))
	}
	return nil
}

func (l *lexer) lineComment() {
	start := l.pos
	for l.pos < len(l.sql) && !isNewline(l.at(0)) {
		l.pos++
	}
	l.comments = append(l.comments, span{start, l.pos})
}

// blockComment reads a comment, in which others may stand.
func (l *lexer) blockComment() error {
	start, depth := l.pos, 0
	for l.pos < len(l.sql) {
		switch {
		case l.at(0) == '/' && l.at(1) == '*':
			depth++
			l.pos += 2
		case l.at(0) == '*' && l.at(1) == '/':
			depth--
			l.pos += 2
			if depth == 0 {
				l.comments = append(l.comments, span{start, l.pos})
				return nil
			}
		default:
			l.pos++
		}
	}
	return unterminated("comment", start)
}

// literal reads a literal from behind its opening quote. One that ends goes on
// if nothing but blanks, at least one of them a new line, stand before another
// quote, and it goes on with the same escapes.
func (l *lexer) literal(skip int, escapes bool) error {
	start := l.pos
	l.pos += skip
	for l.pos < len(l.sql) {
		switch c := l.at(0); {
		case escapes && c == '\\':
			l.pos += 2
		case c == '\'' && l.at(1) == '\'':
			l.pos += 2
		case c == '\'':
			l.pos++
			if !l.continued() {
				return nil
			}
		default:
			l.pos++
		}
	}
	return unterminated("literal", start)
}

// continued says whether a literal that just ended goes on, and moves into it
// if so.
func (l *lexer) continued() bool {
	ahead, newline := *l, false
	for ahead.pos < len(ahead.sql) {
		switch c := ahead.at(0); {
		case isSpace(c):
			newline = newline || isNewline(c)
			ahead.pos++
		case c == '-' && ahead.at(1) == '-':
			ahead.lineComment()
		case c == '\'' && newline:
			ahead.pos++
			*l = ahead
			return true
		default:
			return false
		}
	}
	return false
}

func (l *lexer) quotedName(skip int) error {
	start := l.pos
	l.pos += skip
	for l.pos < len(l.sql) {
		if l.at(0) != '"' {
			l.pos++
			continue
		}
		if l.at(1) != '"' {
			l.pos++
			return l.link()
		}
		l.pos += 2
	}
	return unterminated("quoted name", start)
}

// dollar reads $tag$...$tag$, or the sign of a parameter.
func (l *lexer) dollar() error {
	start, end := l.pos, l.pos+1
	for end < len(l.sql) && isWord(l.sql[end]) && l.sql[end] != '$' {
		end++
	}
	if end >= len(l.sql) || l.sql[end] != '$' || isDigit(l.sql[start+1]) {
		l.pos++
		return nil
	}
	tag := l.sql[start : end+1]
	i := strings.Index(l.sql[end+1:], tag)
	if i < 0 {
		return unterminated("literal", start)
	}
	l.pos = end + 1 + i + len(tag)
	return nil
}

func unterminated(what string, offset int) error {
	return engine.Syntax(fmt.Sprintf("unterminated %s (offset %d)", what, offset))
}

func isNewline(c byte) bool { return c == '\n' || c == '\r' }

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

func isWord(c byte) bool { return isWordStart(c) || isDigit(c) || c == '$' }
