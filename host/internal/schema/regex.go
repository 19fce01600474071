// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// regex is a regular expression of a schema. Schemas have those of ECMA-262,
// but a backtracking engine could be made to run for hours; so they run on
// package regexp, in time linear in the text. What differs is translated where
// it can be: \u and \c escapes, the space of \s, and lookaheads at the beginning
// ("^(?!...)..."), which are so many expressions that must match or must not.
// Whatever else only ECMA-262 has (lookbehind, back references) is refused.
type regex struct {
	source string
	// steps is how many instructions it has.
	steps int
	main  *regexp.Regexp
	ahead []lookahead
}

// lookahead is a condition on what follows the beginning.
type lookahead struct {
	re  *regexp.Regexp
	not bool
}

// String returns the expression as the schema has it.
func (r *regex) String() string { return r.source }

// MatchString reports whether s contains a match.
func (r *regex) MatchString(s string) bool {
	for _, a := range r.ahead {
		if a.re.MatchString(s) == a.not {
			return false
		}
	}
	return r.main.MatchString(s)
}

// match is MatchString for bytes.
func (r *regex) match(b []byte) bool {
	for _, a := range r.ahead {
		if a.re.Match(b) == a.not {
			return false
		}
	}
	return r.main.Match(b)
}

var _ jsonschema.Regexp = (*regex)(nil)

// engine is compileRegex for the library.
func engine(source string) (jsonschema.Regexp, error) { return compileRegex(source) }

func compileRegex(source string) (*regex, error) {
	if len(source) > MaxRegex {
		return nil, fmt.Errorf("regex longer than %d bytes", MaxRegex)
	}
	r := &regex{source: source}
	rest := translate(source)
	if body, ok := strings.CutPrefix(rest, "^"); ok {
		for {
			inner, not, after, ok := cutLookahead(body)
			if !ok {
				break
			}
			re, err := r.compile("^(?:" + inner + ")")
			if err != nil {
				return nil, err
			}
			r.ahead = append(r.ahead, lookahead{re, not})
			body = after
		}
		if len(r.ahead) > 0 && alternates(body) {
			return nil, errors.New("regex with a lookahead in an alternative cannot be checked in bounded time")
		}
		rest = "^" + body
	}
	var err error
	r.main, err = r.compile(rest)
	return r, err
}

// compile compiles one of r's expressions.
func (r *regex) compile(expr string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, r.bad(err)
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, r.bad(err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, r.bad(err)
	}
	if r.steps += len(prog.Inst); r.steps > MaxRegexSteps {
		return nil, fmt.Errorf("regex %s is too large", shown(quote(r.source), maxShown))
	}
	return re, nil
}

func (r *regex) bad(err error) error {
	reason := err.Error()
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		reason = string(e.Code)
		for _, lookaround := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
			if strings.HasPrefix(e.Expr, lookaround) {
				reason = "lookaround that cannot be checked in bounded time"
			}
		}
	}
	return fmt.Errorf("bad regex %s: %s", shown(quote(r.source), maxShown), reason)
}

// space is \s of ECMA-262 in a character class; that of package regexp is ASCII.
const space = `\t-\r\p{Z}\x{feff}`

// translate rewrites the escapes that package regexp lacks or reads otherwise:
// \uXXXX, \u{X...}, \cX, \s and \S (not \S in a class, which cannot be said).
func translate(source string) string {
	if strings.IndexByte(source, '\\') < 0 {
		return source
	}
	var b strings.Builder
	class := false
	for i := 0; i < len(source); i++ {
		rest := source[i:]
		if rest[0] != '\\' || len(rest) < 2 {
			class = rest[0] == '[' || class && rest[0] != ']'
			b.WriteByte(rest[0])
			continue
		}
		i++
		switch c := rest[1]; {
		case c == 'u' && strings.HasPrefix(rest, `\u{`):
			b.WriteString(`\x`)
		case c == 'u' && len(rest) >= 6:
			b.WriteString(`\x{` + rest[2:6] + `}`)
			i += 4
		case c == 'c' && len(rest) > 2 && isLetter(rest[2]):
			fmt.Fprintf(&b, `\x{%x}`, rest[2]&0x1f)
			i++
		case c == 's' && class:
			b.WriteString(space)
		case c == 's':
			b.WriteString(`[` + space + `]`)
		case c == 'S' && !class:
			b.WriteString(`[^` + space + `]`)
		default:
			b.WriteString(rest[:2])
		}
	}
	return b.String()
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// cutLookahead splits a lookahead off the beginning of an expression.
func cutLookahead(expr string) (inner string, not bool, after string, ok bool) {
	if !strings.HasPrefix(expr, "(?=") && !strings.HasPrefix(expr, "(?!") {
		return "", false, "", false
	}
	depth := 0
	for i, c := range outside(expr) {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return expr[3:i], expr[2] == '!', expr[i+1:], true
			}
		}
	}
	return "", false, "", false
}

// alternates reports whether an expression has a | outside all parentheses.
func alternates(expr string) bool {
	depth := 0
	for _, c := range outside(expr) {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// outside yields the bytes of an expression that are neither escaped nor in a
// character class.
func outside(expr string) func(yield func(int, byte) bool) {
	return func(yield func(int, byte) bool) {
		class := false
		for i := 0; i < len(expr); i++ {
			switch c := expr[i]; {
			case c == '\\':
				i++
			case class:
				class = c != ']'
			case c == '[':
				class = true
			default:
				if !yield(i, c) {
					return
				}
			}
		}
	}
}
