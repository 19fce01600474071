// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package uritemplate

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxURI is the longest URI that matches anything, in bytes.
const MaxURI = 8 << 10

// Template is a template of URIs.
type Template struct {
	names    []string // of all variables, in order
	path     *regexp.Regexp
	captures []string // the variables that path captures
	query    []string // the variables of the query; they may be absent
}

// Names are the names of the variables, in order.
func (t *Template) Names() []string { return slices.Clone(t.names) }

// Optional says whether a URI may match without the variable: a parameter of the
// query.
func (t *Template) Optional(name string) bool { return slices.Contains(t.query, name) }

// Match returns the values of the variables, decoded, if the URI is one that the
// template stands for. Only parameters of the query may be absent from it. A value
// is valid UTF-8 and otherwise whatever the URI's author likes, "../" included.
func (t *Template) Match(uri string) (map[string]string, bool) {
	if len(uri) > MaxURI {
		return nil, false
	}
	found := t.path.FindStringSubmatch(uri)
	if found == nil {
		return nil, false
	}
	values := make(map[string]string, len(t.names))
	for i, name := range t.captures {
		value, ok := decode(found[i+1])
		if !ok {
			return nil, false
		}
		values[name] = value
	}
	if len(t.query) == 0 {
		return values, true
	}
	rest := found[len(found)-1]
	if rest == "" {
		return values, true
	}
	for pair := range strings.SplitSeq(rest[1:], "&") {
		name, raw, _ := strings.Cut(pair, "=")
		value, ok := decode(raw)
		if _, twice := values[name]; !ok || twice || !slices.Contains(t.query, name) {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

// decode undoes percent-encoding. A plus is a plus (RFC 3986, not HTML forms).
func decode(s string) (string, bool) {
	value, err := url.PathUnescape(s)
	return value, err == nil && utf8.ValidString(value)
}
