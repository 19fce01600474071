// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// says is what one rule for some callers, before a denial of everything, says
// of a caller.
func says(t testing.TB, who tool.Principal, globs ...string) rules.Verb {
	t.Helper()
	p, err := rules.New([]rules.Rule{
		{Verb: rules.Allow, Names: []string{"*"}, Principals: globs, Line: 1},
		{Verb: rules.Deny, Names: []string{"*"}, Line: 2},
	}, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	verb, why := verbOf(t, p, &tool.Case{Call: &tool.Call{Principal: who}, Spec: &tool.Spec{Name: "orders_get"}})
	if verb == rules.Allow && !strings.Contains(why, strings.Join(globs, ", ")) {
		t.Errorf("why: %s", why)
	}
	if got := p.Visible(who, &tool.Spec{Name: "orders_get"}); got != (verb != rules.Deny || who.Kind == tool.Operator) {
		t.Errorf("%s is visible: %v", verb, got)
	}
	return verb
}

func TestARuleForSomeCallersIsAboutNobodyElse(t *testing.T) {
	desk := tool.Principal{Kind: tool.Token, ClientID: "desk", Subject: "ada"}
	site := tool.Principal{Kind: tool.Token, ClientID: "https://app.example/client", Issuer: "https://id.example", Subject: "bob"}
	ann := tool.Principal{Kind: tool.Stdio, Subject: "ann"}
	named := tool.Principal{Kind: tool.Named, Subject: "ada"}
	nobody := tool.Principal{}
	for name, c := range map[string]struct {
		globs           []string
		matches, others []tool.Principal
	}{
		"a client id":             {[]string{"desk"}, []tool.Principal{desk}, []tool.Principal{site, ann, named, nobody}},
		"a subject or a name":     {[]string{"ada"}, []tool.Principal{desk, named}, []tool.Principal{site, ann, nobody}},
		"one of several":          {[]string{"x", "bob"}, []tool.Principal{site}, []tool.Principal{desk, nobody}},
		"a client that is a URL":  {[]string{"https://app.example/*"}, []tool.Principal{site}, []tool.Principal{desk}},
		"everybody":               {[]string{"*"}, []tool.Principal{desk, site, ann, named, nobody}, nil},
		"every local user":        {[]string{"stdio/*"}, []tool.Principal{ann}, []tool.Principal{desk, site, named, nobody}},
		"nobody":                  {[]string{"anonymous"}, []tool.Principal{nobody}, []tool.Principal{desk, site, ann, named}},
		"a whole token":           {[]string{`["desk","","ada"]`}, []tool.Principal{desk}, []tool.Principal{site, named}},
		"all of an issuer":        {[]string{`["*","https://id.example","*"]`}, []tool.Principal{site}, []tool.Principal{desk}},
		"a part of a name":        {[]string{"des", "esk", "d?sk", "[d]esk", "", "Desk"}, nil, []tool.Principal{desk, nobody}},
		"what starts and ends so": {[]string{"d*k"}, []tool.Principal{desk}, []tool.Principal{site}},
		"what overlaps":           {[]string{"des*esk"}, nil, []tool.Principal{desk}},
		"a name that imitates":    {[]string{"named/*"}, []tool.Principal{named}, []tool.Principal{{Kind: tool.Token, ClientID: "named/ada", Subject: "named/ada"}}},
		"a local user's imitation": {[]string{"stdio/*", "operator/*", "anonymous", `["desk","","ada"]`}, nil, []tool.Principal{
			{Kind: tool.Token, ClientID: "stdio/local/ann", Subject: "operator/root"},
			{Kind: tool.Named, Subject: "stdio/local/ann"},
			{Kind: tool.Token, ClientID: "anonymous", Subject: "anonymous"},
			{Kind: tool.Named, Subject: `["desk","","ada"]`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range c.matches {
				if got := says(t, p, c.globs...); got != rules.Allow {
					t.Errorf("%s: %s", p, got)
				}
			}
			for _, p := range c.others {
				if got := says(t, p, c.globs...); got != rules.Deny {
					t.Errorf("%s: %s", p, got)
				}
			}
		})
	}
}

func TestWhatMayBeConfirmedIsVisibleAndAnOperatorSeesAll(t *testing.T) {
	p, err := rules.New([]rules.Rule{
		{Verb: rules.Confirm, Names: []string{"a*"}}, {Verb: rules.Deny, Names: []string{"b*"}},
	}, rules.Defaults{Destructive: rules.Deny})
	if err != nil {
		t.Fatal(err)
	}
	ann, op := tool.Principal{Kind: tool.Stdio, Subject: "ann"}, tool.Principal{Kind: tool.Operator, Subject: "ann"}
	for _, c := range []struct {
		spec tool.Spec
		want bool
	}{
		{tool.Spec{Name: "a"}, true},
		{tool.Spec{Name: "b", Effects: tool.ReadOnly}, false},
		{tool.Spec{Name: "c", Effects: tool.ReadOnly}, true},
		{tool.Spec{Name: "c", Effects: tool.Additive}, true},
		{tool.Spec{Name: "c"}, false},
	} {
		if got := p.Visible(ann, &c.spec); got != c.want {
			t.Errorf("%+v is visible: %v", c.spec, got)
		}
		if !p.Visible(op, &c.spec) {
			t.Errorf("%+v is hidden from an operator", c.spec)
		}
	}
}

func TestAStarStandsForAnyText(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune(`ab/*[]"\`)))
	rapid.Check(t, func(t *rapid.T) {
		glob := text.Draw(t, "glob")
		name := strings.ReplaceAll(text.Draw(t, "name"), "*", "")
		pattern := strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, `(?s:.*)`)
		p, err := rules.New([]rules.Rule{{Verb: rules.Deny, Names: []string{"*"}, Principals: []string{glob}}}, rules.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		want := false
		who := tool.Principal{Kind: tool.Named, Subject: name}
		for _, n := range who.Names() {
			want = want || regexp.MustCompile(`\A`+pattern+`\z`).MatchString(n)
		}
		if got := !p.Visible(who, &tool.Spec{Name: "x", Effects: tool.ReadOnly}); got != want {
			t.Fatalf("%q matches %q: %v", glob, who.Names(), got)
		}
	})
}
