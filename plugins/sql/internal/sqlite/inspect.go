// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import "github.com/toolwharf/toolwharf/plugins/sql/internal/engine"

// shape is what the lexer knows of a statement.
type shape struct {
	sql    string
	tokens []token
	ctes   map[string]bool // folded names that a CTE or window may define
}

// inspect refuses what cannot be one plain read.
func inspect(sql string) (*shape, error) {
	tokens, err := lex(sql)
	if err != nil {
		return nil, err
	}
	for i, t := range tokens {
		if !t.is(";") {
			continue
		}
		for _, after := range tokens[i+1:] {
			if !after.is(";") {
				return nil, engine.MultipleStatements(after.start)
			}
		}
		tokens = tokens[:i]
		break
	}
	if len(tokens) == 0 {
		return nil, engine.Syntax("the statement is empty")
	}
	if first := tokens[0]; !first.is("SELECT") && !first.is("WITH") && !first.is("VALUES") {
		found := sql[first.start:first.end]
		if first.kind == tokenWord {
			found = upper(found)
		}
		return nil, engine.NotSelect(found)
	}
	return &shape{sql: sql, tokens: tokens, ctes: definitions(tokens)}, nil
}

// definitions finds the names that stand where WITH and WINDOW define one:
//
//	name [ ( ... ) ] AS [ [ NOT ] MATERIALIZED ] (
//
// Nothing else in a SELECT looks like that, so WITH itself, which may also be
// an identifier, need not be understood.
func definitions(tokens []token) map[string]bool {
	var names map[string]bool
	at := func(i int, s string) bool { return i < len(tokens) && tokens[i].is(s) }
	for i, t := range tokens {
		if !t.mayName() {
			continue
		}
		next := i + 1
		if at(next, "(") {
			next = closing(tokens, next) + 1
		}
		if !at(next, "AS") {
			continue
		}
		next++
		if at(next, "NOT") {
			next++
		}
		if at(next, "MATERIALIZED") {
			next++
		}
		if at(next, "(") {
			if names == nil {
				names = map[string]bool{}
			}
			names[fold(t.text)] = true
		}
	}
	return names
}

// closing is the index of the parenthesis that closes the one at open, or of
// the last token.
func closing(tokens []token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch {
		case tokens[i].is("("):
			depth++
		case tokens[i].is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens) - 1
}
