// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package uritemplate

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestURIsMatchTheirTemplates(t *testing.T) {
	type values = map[string]string
	for _, c := range []struct {
		template, uri string
		want          values // nil: it does not match
	}{
		{"a://b/{id}", "a://b/7", values{"id": "7"}},
		{"a://b/{id}", "a://b/", nil},
		{"a://b/{id}", "a://b/7/8", nil},
		{"a://b/{id}", "x://a://b/7", nil},
		{"a://b/{id}", "a://b/caf%C3%A9%2F..", values{"id": "café/.."}},
		{"a://b/{id}", "a://b/%ff", nil},
		{"a://b/{id}", "a://b/é", nil},
		{"a://b/{id}", "a://b/7\n", nil},
		{"a://b.c/{id}", "a://bxc/7", nil},
		{"a://b/{id}/data", "a://b/7/data", values{"id": "7"}},
		{"a://b/{x}-{y}", "a://b/1-2", values{"x": "1", "y": "2"}},
		{"a:{+path}", "a:/x/y?z#1", values{"path": "/x/y?z#1"}},
		{"a://b{/dir}{?q}", "a://b/d", values{"dir": "d"}},
		{"a://b{/dir}", "a://b/d/e", nil},
		{"a://b/x{.ext}", "a://b/x.png", values{"ext": "png"}},
		{"a://b/x{#part}", "a://b/x#top/1", values{"part": "top/1"}},
		{"a://b/x{;v}", "a://b/x;v=1", values{"v": "1"}},
		{"a://b/{id}{?from,to}", "a://b/7?to=2&from=1+1", values{"id": "7", "from": "1+1", "to": "2"}},
		{"a://b/{id}{?from,to}", "a://b/7?to=", values{"id": "7", "to": ""}},
		{"a://b/{id}{?from,to}", "a://b/7?to=1&to=2", nil},
		{"a://b/{id}{?from,to}", "a://b/7?id=2", nil},
		{"a://b/{id}{?from,to}", "a://b/7?other=2", nil},
		{"a://b?x=1{&y}", "a://b?x=1&y=2", values{"y": "2"}},
		{"a://b/{id}", "a://b/" + strings.Repeat("x", MaxURI), nil},
	} {
		tmpl, err := Parse(c.template)
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
			continue
		}
		got, ok := tmpl.Match(c.uri)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != nil) {
			t.Errorf("%s %.40s: %v %s", c.template, c.uri, ok, diff)
		}
	}
}

func TestTheVariablesOfATemplate(t *testing.T) {
	tmpl, err := Parse("a://b/{id}{?from,to}")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"id", "from", "to"}, tmpl.Names()); diff != "" {
		t.Error(diff)
	}
	if tmpl.Optional("id") || !tmpl.Optional("to") {
		t.Error("the parameters of the query are what may be absent")
	}
}

func TestTemplatesThatCannotBeReadBackAreRefused(t *testing.T) {
	for template, want := range map[string]string{
		"":              "has no scheme",
		"b/{id}":        "has no scheme",
		"{scheme}://b":  "has no scheme",
		"a://b":         "has no variable",
		"a://b/{id":     "is not closed",
		"a://b/{}":      `"" is not the name`,
		"a://b/{i d}":   `"i d" is not the name`,
		"a://b/{=id}":   `"=id" is not the name`,
		"a://b/{id:3}":  "modifiers",
		"a://b/{id*}":   "modifiers",
		"a://b/{x}{y}":  "follows another",
		"a://b/{x}/{x}": "comes twice",
		"a://b/{x,y}":   "after ? and & only",
		"a://b{?x}/y":   "is not the end",
		"a://b c/{x}":   "no URI's",
		"a://b/{x}\x00": "no URI's",
		"a://" + strings.Repeat("x", MaxURI) + "{y}": "is longer",
	} {
		if _, err := Parse(template); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", template, err, want)
		}
	}
}

func TestAbsoluteURIs(t *testing.T) {
	for uri, want := range map[string]string{
		"a:":                               "",
		"a://b/%20?c#d":                    "",
		"":                                 "no scheme",
		"/b":                               "no scheme",
		"1a:b":                             "no scheme",
		"a:b c":                            "no URI's",
		"a:{x}":                            "no URI's",
		"a:%2":                             "no URI's",
		"a:" + strings.Repeat("x", MaxURI): "is longer",
	} {
		err := Absolute(uri)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", uri, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a://b/{id}", "a:{+p}{?q,r}", "a://{x}.{y}{/z}{#f}", "a:{", "a:}{"} {
		f.Add(s, "a://b/%41?q=1")
	}
	f.Fuzz(func(t *testing.T, template, uri string) {
		tmpl, err := Parse(template)
		if err != nil {
			return
		}
		values, ok := tmpl.Match(uri)
		if !ok {
			return
		}
		for _, name := range tmpl.Names() {
			value, given := values[name]
			if !given && !tmpl.Optional(name) || !utf8.ValidString(value) {
				t.Errorf("%s of %q in %q: %q", name, template, uri, value)
			}
		}
	})
}

// What the RFC expands is matched, and the values come back.
func FuzzMatchIsTheReverseOfExpansion(f *testing.F) {
	f.Add("7", "a b", "é/../")
	f.Add("%", "+", "#?&=")
	tmpl, err := Parse("a://b/{x}/c{;y}{?z}")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, x, y, z string) {
		if x == "" || y == "" || len(x)+len(y)+len(z) > 1000 || !utf8.ValidString(x+y+z) || !utf8.ValidString(x) || !utf8.ValidString(y) {
			return
		}
		escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
		uri := "a://b/" + escape(x) + "/c;y=" + escape(y) + "?z=" + escape(z)
		got, ok := tmpl.Match(uri)
		if diff := cmp.Diff(map[string]string{"x": x, "y": y, "z": z}, got); !ok || diff != "" {
			t.Errorf("%s: %v %s", uri, ok, diff)
		}
	})
}
