// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package uritemplate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Characters of values (RFC 6570, 2.1): what is not among them is percent-encoded.
const (
	unreserved = `(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})`
	reserved   = `(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})`
)

var (
	// scheme begins an absolute URI.
	scheme   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	literal  = regexp.MustCompile(`^(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
	variable = regexp.MustCompile(`^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$`)
)

// Absolute says why a text is no absolute URI; nil: it is one.
func Absolute(uri string) error {
	switch {
	case len(uri) > MaxURI:
		return fmt.Errorf("is longer than %d bytes", MaxURI)
	case !scheme.MatchString(uri):
		return errors.New("has no scheme: an absolute URI begins like \"name:\"")
	case !literal.MatchString(uri):
		return errors.New("has characters that are no URI's: percent-encode them")
	}
	return nil
}

// Parse reads a template of absolute URIs. The scheme is literal.
func Parse(text string) (*Template, error) {
	if len(text) > MaxURI {
		return nil, fmt.Errorf("is longer than %d bytes", MaxURI)
	}
	if !scheme.MatchString(text) {
		return nil, errors.New("has no scheme: a template of absolute URIs begins like \"name:\"")
	}
	t := new(Template)
	var pattern strings.Builder
	pattern.WriteString("^")
	touching := false
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if !literal.MatchString(before) {
			return nil, fmt.Errorf("%q has characters that are no URI's: percent-encode them", before)
		}
		pattern.WriteString(regexp.QuoteMeta(before))
		if !found {
			break
		}
		expression, tail, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("{%s is not closed", after)
		}
		if touching && before == "" && !strings.HasPrefix(expression, "?") {
			return nil, fmt.Errorf("{%s} follows another expression at once: where one ends cannot be told", expression)
		}
		part, err := t.expression(expression, tail)
		if err != nil {
			return nil, err
		}
		pattern.WriteString(part)
		rest, touching = tail, true
	}
	if len(t.names) == 0 {
		return nil, errors.New("has no variable: it is a fixed URI")
	}
	var err error
	t.path, err = regexp.Compile(pattern.String() + "$")
	return t, err
}

// expression adds the variables of one, and returns its part of the pattern.
func (t *Template) expression(text, tail string) (string, error) {
	operator, names := "", text
	if text != "" && strings.ContainsRune("+#./;?&", rune(text[0])) {
		operator, names = text[:1], text[1:]
	}
	list := strings.Split(names, ",")
	for _, name := range list {
		switch {
		case strings.ContainsAny(name, ":*"):
			return "", fmt.Errorf("{%s}: the modifiers : and * are not supported", text)
		case !variable.MatchString(name):
			return "", fmt.Errorf("{%s}: %q is not the name of a variable", text, name)
		case slices.Contains(t.names, name):
			return "", fmt.Errorf("{%s}: the variable %q comes twice", text, name)
		}
		t.names = append(t.names, name)
	}
	if operator == "?" || operator == "&" {
		if tail != "" {
			return "", fmt.Errorf("{%s} is not the end", text)
		}
		t.query = list
		return "(" + regexp.QuoteMeta(operator) + reservedButFragment + "+)?", nil
	}
	if len(list) > 1 {
		return "", fmt.Errorf("{%s}: several variables are supported after ? and & only", text)
	}
	t.captures = append(t.captures, list[0])
	switch operator {
	case "+":
		return "(" + reserved + "+)", nil
	case "#":
		return "#(" + reserved + "+)", nil
	case ";":
		return ";" + regexp.QuoteMeta(list[0]) + "=(" + unreserved + "+)", nil
	case "":
		return "(" + unreserved + "+)", nil
	default: // a dot or a slash
		return regexp.QuoteMeta(operator) + "(" + unreserved + "+)", nil
	}
}

// reservedButFragment is what a query may hold.
const reservedButFragment = `(?:[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})`
