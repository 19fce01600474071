// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"strings"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// The naming trial: a caller must not be able to tell an unlisted table from
// one that does not exist, not by an error about its columns either. SQLite
// checks names of tables before anything else that depends on them, but only
// SQLite knows which identifiers are names of tables: it depends on scopes,
// aliases and CTEs. So it is asked: each identifier that equals the name of
// something unlisted is replaced by a name that does not exist, and the text is
// compiled. If SQLite now misses a table, the identifier stood for one, and the
// caller is told just what it is told of a missing table. Otherwise it is a
// column, an alias or a CTE, and the text as it was goes on to the authorizer.

// trial runs the naming trial. plain says that no unlisted table is used.
func (c *conn) trial(s *shape) (plain bool, err error) {
	t := newTrial(s, c.guard.catalog)
	if len(t.replaced) == 0 {
		return true, nil
	}
	err = c.tryOut(t.sql)
	if err == nil {
		return true, nil
	}
	if name, ok := t.missing(message(err)); ok {
		return false, engine.TableNotAllowed(name)
	}
	// The text as it was will show the same fault. But SQLite may find a fault
	// of syntax only after it has compiled what stands before, of which the
	// authorizer would then be asked in vain.
	if syntaxError(err, t.sql) != nil {
		return false, syntaxError(c.tryOut(s.sql), s.sql)
	}
	return false, nil
}

// tryOut compiles a statement that will not be run.
func (c *conn) tryOut(sql string) error {
	c.guard.phase = phaseTrial
	s, _, err := c.sqlite.Prepare(sql)
	c.guard.phase = phaseTrusted
	if err != nil {
		return err
	}
	return s.Close()
}

type trial struct {
	sql      string
	stem     string        // what the replacing names begin with, folded
	replaced []replacement // by occurrence
}

// replacement is an identifier that was replaced.
type replacement struct {
	was string // as the caller wrote it, without quotes
	by  string
}

// bits is how many letters of a replacing name tell by their case which
// occurrence it is. To SQLite all spellings are the same name, but its errors
// quote the one that they are about. There are fewer tokens than 2^bits.
const bits = 17

func newTrial(s *shape, cat *catalog) *trial {
	t := &trial{}
	var b strings.Builder
	ids := map[string]int{}
	end := 0
	for _, token := range s.tokens {
		name := fold(token.text)
		if !token.mayName() || !cat.hidden(name) || token.kind == tokenWord && keywords[name] {
			continue
		}
		if t.stem == "" {
			t.stem = unusedStem(s.sql, cat)
		}
		if _, ok := ids[name]; !ok {
			ids[name] = len(ids)
		}
		b.WriteString(s.sql[end:token.start])
		quote, closing := "", ""
		if token.kind != tokenWord {
			quote, closing = s.sql[token.start:token.start+1], s.sql[token.end-1:token.end]
		}
		by := t.spell(len(t.replaced)) + letters(ids[name])
		b.WriteString(quote + by + closing)
		t.replaced = append(t.replaced, replacement{token.text, by})
		end = token.end
	}
	b.WriteString(s.sql[end:])
	t.sql = b.String()
	return t
}

// spell is the stem and the bits of occurrence n.
func (t *trial) spell(n int) string {
	name := []byte(t.stem)
	for i := range bits {
		letter := byte('b')
		if n>>i&1 == 1 {
			letter = 'B'
		}
		name = append(name, letter)
	}
	return string(name)
}

// missing says whether an error misses a replacing name, and which name the
// caller wrote there.
func (t *trial) missing(message string) (string, bool) {
	name, ok := missingTable(message)
	at := strings.Index(fold(name), t.stem)
	if !ok || at < 0 || len(name) < at+len(t.stem)+bits {
		return "", false
	}
	n := 0
	for i := range bits {
		if name[at+len(t.stem)+i] == 'B' {
			n |= 1 << i
		}
	}
	if n >= len(t.replaced) {
		return "", false
	}
	return strings.Replace(name, t.replaced[n].by, t.replaced[n].was, 1), true
}

// missingTable takes the name from SQLite's error about a missing table.
func missingTable(message string) (name string, ok bool) {
	return strings.CutPrefix(message, "no such table: ")
}

// unusedStem is a beginning that no name in the text or the schema has.
func unusedStem(sql string, cat *catalog) string {
	sql = fold(sql)
	stem := "unlisted_"
	for strings.Contains(sql, stem) || cat.hasPrefix(stem) {
		stem += "x"
	}
	return stem
}

// letters spells n, which no identifier can be confused by.
func letters(n int) string {
	s := []byte{'_'}
	for ; n > 0; n /= 26 {
		s = append(s, "abcdefghijklmnopqrstuvwxyz"[n%26])
	}
	return string(s)
}

// keywords are those that cannot be identifiers unless quoted.
var keywords = set(`
	add all alter and as autoincrement between case check collate commit constraint create default
	deferrable delete distinct drop else escape exists foreign from group having in index insert into
	is isnull join limit not nothing notnull null on or order primary references returning select set
	table then to transaction union unique update using values when where
`)
