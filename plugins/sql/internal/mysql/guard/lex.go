// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// maxParentheses is how deep parentheses may nest: more than people write, and
// little enough for every parser that descends into them.
const maxParentheses = 200

// lexer reads a statement as the server's own lexer does, before any parser
// sees it. What two lexers could read differently is refused here: the server
// executes some comments, ends some quotes at a backslash and has blanks and
// names of its own.
type lexer struct {
	sql   string
	modes modes

	depth   int
	comment int // where the first comment starts, -1 for none
	end     int // where the first semicolon stands, -1 for none
	second  int // where something stands behind it, -1 for nothing
}

// scan reads sql to its end.
func scan(sql string, m modes) (*lexer, error) {
	l := &lexer{sql: sql, modes: m, comment: -1, end: -1, second: -1}
	for i := 0; i < len(sql); {
		next, err := l.token(i)
		if err != nil {
			return nil, err
		}
		i = next
	}
	return l, nil
}

// token reads what starts at i and says where the next starts.
func (l *lexer) token(i int) (int, error) {
	c := l.sql[i]
	if blank(c) {
		return i + 1, nil
	}
	if n, err := l.commentAt(i); n != i || err != nil {
		return n, err
	}
	if l.end >= 0 && c != ';' && l.second < 0 {
		l.second = i
	}
	switch c {
	case ';':
		if l.end < 0 {
			l.end = i
		}
	case '\'', '"', '`':
		return l.quoted(i)
	case '(':
		if l.depth++; l.depth > maxParentheses {
			return 0, engine.ConstructNotAllowed("nesting more than 200 parentheses")
		}
	case ')':
		l.depth--
	case '@':
		return l.variable(i)
	case ':':
		return 0, engine.ConstructNotAllowed("an assignment or a label (:)")
	case '{', '}':
		return 0, engine.ConstructNotAllowed("an ODBC escape ({})")
	case '\\':
		return 0, engine.ConstructNotAllowed("a backslash outside of quotes")
	}
	return l.plain(i)
}

// blank says what the server takes for a blank in utf8mb4.
func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// plain passes one character outside of quotes. Names may be written in any
// alphabet; what is neither letter nor digit, such as a no-break space, is part
// of a name for the server and a blank for others.
func (l *lexer) plain(i int) (int, error) {
	c := l.sql[i]
	if c < utf8.RuneSelf {
		if c < ' ' || c == 0x7f {
			return 0, engine.SyntaxAt(l.sql[i:], i)
		}
		return i + 1, nil
	}
	r, size := utf8.DecodeRuneInString(l.sql[i:])
	if !unicode.In(r, unicode.L, unicode.M, unicode.N) || r > 0xFFFF {
		return 0, engine.SyntaxAt(l.sql[i:], i)
	}
	return i + size, nil
}

// commentAt passes a comment that starts at i; it returns i where there is none.
func (l *lexer) commentAt(i int) (int, error) {
	rest := l.sql[i:]
	var n int
	switch {
	case strings.HasPrefix(rest, "/*"):
		if len(rest) > 2 && strings.IndexByte("!+", rest[2]) >= 0 || len(rest) > 3 && rest[3] == '!' {
			return 0, engine.ConstructNotAllowed("a comment that is executed or a hint (/*! */, /*M! */, /*T! */, /*+ */)")
		}
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			return 0, engine.SyntaxAt(rest, i)
		}
		n = 2 + end + 2
	case rest[0] == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' ' || rest[2] == 0x7f):
		if n = strings.IndexByte(rest, '\n'); n < 0 {
			n = len(rest)
		}
	default:
		return i, nil
	}
	if l.comment < 0 {
		l.comment = i
	}
	return i + n, nil
}

// quoted passes a string or a quoted name. A quote is written twice in either;
// in a string a backslash escapes what follows, unless the mode forbids it.
func (l *lexer) quoted(i int) (int, error) {
	quote := l.sql[i]
	name := quote == '`' || quote == '"' && l.modes.ansiQuotes
	for j := i + 1; j < len(l.sql); j++ {
		switch {
		case l.sql[j] == quote && j+1 < len(l.sql) && l.sql[j+1] == quote:
			j++
		case l.sql[j] == quote:
			return j + 1, nil
		case l.sql[j] == '\\' && quote == '"' && name:
			// The server takes it as it stands, the parser as an escape.
			return 0, engine.ConstructNotAllowed("a backslash in a quoted name")
		case l.sql[j] == '\\' && !name && !l.modes.noBackslashEscapes:
			j++
		}
	}
	return 0, engine.SyntaxAt(l.sql[i:], i)
}

// variable passes the @@ of a system variable, whose name the judge looks at.
// Quotes behind an @ have rules of their own, so there are none.
func (l *lexer) variable(i int) (int, error) {
	rest := l.sql[i:]
	if len(rest) < 3 || rest[1] != '@' || !letter(rest[2]) {
		return 0, engine.ConstructNotAllowed("a user variable (@)")
	}
	return i + 2, nil
}

func letter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }
