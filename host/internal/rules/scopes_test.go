// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestARuleWithScopesIsForThoseWhoHaveThemAndTheDefaultsAreForNobodyElse(t *testing.T) {
	pay := tool.Spec{Name: "shop_pay", Adapter: "shop", Effects: tool.ReadOnly} // which the defaults allow
	all := []string{"shop_*"}
	for name, c := range map[string]struct {
		rules  []rules.Rule
		scopes []string
		kind   tool.PrincipalKind
		denied bool
		lacks  []string
	}{
		"who has it":               {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}}, []string{"pay", "x"}, tool.Token, false, nil},
		"who has not":              {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}}, []string{"x"}, tool.Token, true, []string{"pay"}},
		"who has one of two":       {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay", "read"}}}, []string{"pay"}, tool.Token, true, []string{"pay", "read"}},
		"who has no token":         {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}}, nil, tool.Stdio, true, []string{"pay"}},
		"an operator":              {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}}, nil, tool.Operator, false, nil},
		"either of two, the other": {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}, {Verb: rules.Allow, Names: all, Scopes: []string{"admin"}}}, []string{"admin"}, tool.Token, false, nil},
		"neither of two":           {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}, {Verb: rules.Allow, Names: all, Scopes: []string{"admin"}}}, nil, tool.Token, true, []string{"pay"}},
		"a rule behind it":         {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}, {Verb: rules.Confirm, Names: all}}, nil, tool.Token, false, nil},
		"a denial behind it":       {[]rules.Rule{{Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}, {Verb: rules.Deny, Names: all}}, nil, tool.Token, true, []string{"pay"}},
		"a denial before it":       {[]rules.Rule{{Verb: rules.Deny, Names: all}, {Verb: rules.Allow, Names: all, Scopes: []string{"pay"}}}, nil, tool.Token, true, nil},
		"about another tool":       {[]rules.Rule{{Verb: rules.Allow, Names: []string{"x"}, Scopes: []string{"pay"}}}, nil, tool.Token, false, nil},
		"about another caller":     {[]rules.Rule{{Verb: rules.Allow, Names: all, Principals: []string{"x"}, Scopes: []string{"pay"}}}, nil, tool.Token, false, nil},
		"a denial of who has it":   {[]rules.Rule{{Verb: rules.Deny, Names: all, Scopes: []string{"guest"}}}, []string{"guest"}, tool.Token, true, nil},
		"a denial of others":       {[]rules.Rule{{Verb: rules.Deny, Names: all, Scopes: []string{"guest"}}}, nil, tool.Token, false, nil},
		"a condition that is true": {[]rules.Rule{{Verb: rules.Allow, Names: all, When: "tool.adapter == 'shop'", Scopes: []string{"pay"}}}, nil, tool.Token, true, []string{"pay"}},
		"one that is not":          {[]rules.Rule{{Verb: rules.Allow, Names: all, When: "tool.adapter == 'x'", Scopes: []string{"pay"}}}, nil, tool.Token, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := rules.New(c.rules, rules.Defaults{})
			if err != nil {
				t.Fatal(err)
			}
			who := tool.Principal{Kind: c.kind, Subject: "ada", Scopes: c.scopes}
			v, err := p.Judge(t.Context(), &tool.Case{Call: &tool.Call{Principal: who}, Spec: &pay})
			if err != nil || (v.Decision == tool.Refuse) != c.denied || v.Reason == "" {
				t.Errorf("%+v, %v", v, err)
			}
			if got := p.Visible(who, &pay); got == c.denied {
				t.Errorf("it is seen: %v", got)
			}
			if got := p.Lacks(who, &pay); !slices.Equal(got, c.lacks) {
				t.Errorf("it lacks %q", got)
			}
		})
	}
}

func TestWithWhatACallerLacksItSeesTheToolAndWithFewerScopesItNeverSeesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scope := rapid.SampledFrom([]string{"a", "b", "c"})
		some := rapid.SliceOfNDistinct(scope, 0, 2, rapid.ID[string])
		var list []rules.Rule
		for range rapid.IntRange(1, 5).Draw(t, "rules") {
			list = append(list, rules.Rule{
				Verb:  rapid.SampledFrom([]rules.Verb{rules.Allow, rules.Confirm, rules.Deny}).Draw(t, "verb"),
				Names: []string{rapid.SampledFrom([]string{"*", "shop_*", "x"}).Draw(t, "glob")}, Scopes: some.Draw(t, "scopes"),
			})
		}
		p, err := rules.New(list, rules.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		pay := tool.Spec{Name: "shop_pay", Effects: rapid.SampledFrom([]tool.Effects{tool.ReadOnly, tool.Destructive}).Draw(t, "effects")}
		who := tool.Principal{Kind: tool.Token, ClientID: "desk", Scopes: some.Draw(t, "has")}
		runs := func(who tool.Principal) bool {
			v, err := p.Judge(t.Context(), &tool.Case{Call: &tool.Call{Principal: who}, Spec: &pay})
			if err != nil || (v.Decision != tool.Refuse) != p.Visible(who, &pay) {
				t.Fatalf("judged %+v, seen %v, %v", v, p.Visible(who, &pay), err)
			}
			return v.Decision != tool.Refuse
		}
		lacks := p.Lacks(who, &pay)
		if runs(who) {
			if len(lacks) > 0 {
				t.Fatalf("it runs, and lacks %q", lacks)
			}
			return
		}
		if len(lacks) == 0 {
			return
		}
		if who.Has(lacks...) {
			t.Fatalf("it lacks %q and has them", lacks)
		}
		denies := slices.ContainsFunc(list, func(r rules.Rule) bool { return r.Verb == rules.Deny && len(r.Scopes) > 0 })
		if who.Scopes = append(who.Scopes, lacks...); !denies && !runs(who) {
			t.Fatalf("with %q it does not run either", lacks)
		}
	})
}
