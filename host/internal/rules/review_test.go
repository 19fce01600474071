// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestARuleThatOneAboveItLeavesNothingNeverDecides(t *testing.T) {
	deny := func(names ...string) rules.Rule { return rules.Rule{Verb: rules.Deny, Names: names, Line: 1} }
	allow := func(names ...string) rules.Rule { return rules.Rule{Verb: rules.Allow, Names: names, Line: 1} }
	with := func(r rules.Rule, change func(*rules.Rule)) rules.Rule { change(&r); return r }
	for name, c := range map[string]struct {
		above, below rules.Rule
		never        bool
	}{
		"the same":                        {deny("a_*"), allow("a_*"), true},
		"one name of a glob":              {deny("a_*"), allow("a_b"), true},
		"a narrower glob":                 {deny("a_*"), allow("a_b*", "a_[cd]"), true},
		"everything":                      {deny("*"), allow("resources:x:/y", "prompts:z", "a"), true},
		"all tools":                       {deny("**"), allow("a_*"), true},
		"one of two names is left":        {deny("a_*"), allow("a_b", "b"), false},
		"a wider glob":                    {deny("a_b*"), allow("a_*"), false},
		"a class that goes beyond":        {deny("a_b"), allow("a_[bc]"), false},
		"tools are no resources":          {deny("**"), allow("resources:x:/y"), false},
		"a tree of resources":             {deny("resources:x:/y/**"), allow("resources:x:/y/z/*"), true},
		"one level of it":                 {deny("resources:x:/y/*"), allow("resources:x:/y/z/a"), false},
		"what is allowed in one form":     {allow("resources:x:/y/**"), deny("resources:x:/y/z"), false},
		"for some callers only":           {with(deny("a"), func(r *rules.Rule) { r.Principals = []string{"x"} }), allow("a"), false},
		"for them and others":             {with(deny("a"), func(r *rules.Rule) { r.Principals = []string{"x", "y"} }), with(allow("a"), func(r *rules.Rule) { r.Principals = []string{"x"} }), true},
		"for others":                      {with(deny("a"), func(r *rules.Rule) { r.Principals = []string{"x"} }), with(allow("a"), func(r *rules.Rule) { r.Principals = []string{"y"} }), false},
		"with some effects":               {with(deny("a"), func(r *rules.Rule) { r.Effects = []tool.Effects{tool.ReadOnly} }), allow("a"), false},
		"with a condition":                {with(deny("a"), func(r *rules.Rule) { r.When = "args.n > 1" }), allow("a"), false},
		"with the same condition":         {with(deny("a"), func(r *rules.Rule) { r.When = "args.n > 1" }), with(allow("a"), func(r *rules.Rule) { r.When = "args.n > 1" }), true},
		"what has more conditions":        {deny("a"), with(allow("a"), func(r *rules.Rule) { r.When, r.Tags = "args.n > 1", []string{"x"} }), true},
		"a glob that is only like a name": {deny(`a\*`), allow("a*"), false},
	} {
		t.Run(name, func(t *testing.T) {
			known := rules.Known{Adapters: []string{"a"}, Open: map[string]string{"a": ""}}
			got := rules.Review([]rules.Rule{c.above, c.below}, known)
			if (len(got) == 1) != c.never || c.never && (got[0].Rule != 1 || got[0].Text != "never decides: the rule on line 1 matches all that it matches") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestARuleAboutNothingThatIsKnownNeverMatches(t *testing.T) {
	known := rules.Known{
		Adapters: []string{"shop", "notes"}, Open: map[string]string{"notes": "notes_"},
		Specs: []tool.Spec{{Name: "shop_pay", Adapter: "shop", Effects: tool.Additive, Tags: []string{"money"}, Input: json.RawMessage(`{"properties":{"n":{}}}`)}},
	}
	whole := known
	whole.Whole, whole.Open = true, nil
	for name, c := range map[string]struct {
		rule  rules.Rule
		known rules.Known
		want  string
	}{
		"a known tool":              {rules.Rule{Names: []string{"shop_p*"}}, known, ""},
		"an unknown one":            {rules.Rule{Names: []string{"shop_x"}}, known, "never matches: no tool or adapter is known that shop_x matches"},
		"what may come":             {rules.Rule{Names: []string{"notes_x"}}, known, ""},
		"a glob that reaches there": {rules.Rule{Names: []string{"n*"}}, known, ""},
		"one that does not":         {rules.Rule{Names: []string{"m*", "shop_[q]*"}}, known, "never matches: no tool or adapter is known that m*, shop_[q]* matches"},
		"another alphabet":          {rules.Rule{Names: []string{"shоp_pay"}}, known, "never matches"},
		"an adapter":                {rules.Rule{Names: []string{"*"}, Adapters: []string{"sho*"}}, known, ""},
		"no adapter":                {rules.Rule{Names: []string{"*"}, Adapters: []string{"shops"}}, known, "never matches: there is no adapter shops"},
		"other effects":             {rules.Rule{Names: []string{"shop_*"}, Effects: []tool.Effects{tool.ReadOnly}}, known, "with effects read_only"},
		"tags that nobody knows":    {rules.Rule{Names: []string{"shop_*"}, Tags: []string{"x"}}, known, ""},
		"other tags":                {rules.Rule{Names: []string{"shop_*"}, Tags: []string{"x"}}, whole, "with tags x"},
		"resources":                 {rules.Rule{Names: []string{"resources:x:/**"}}, whole, ""},
		"everything":                {rules.Rule{Names: []string{"*"}}, whole, ""},
		"an argument":               {rules.Rule{Names: []string{"*"}, When: "args.n == 1"}, whole, ""},
		"one that no tool has":      {rules.Rule{Names: []string{"*"}, When: "args.n == 1 || args.m == 2"}, whole, "when looks at args.m, which no tool has"},
		"nothing is there":          {rules.Rule{Names: []string{"x"}}, rules.Known{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.rule.Verb = rules.Deny
			text := ""
			for _, r := range rules.Review([]rules.Rule{c.rule}, c.known) {
				text += r.Text
			}
			if (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("%s", text)
			}
		})
	}
}

// What is said of a rule is true: no call is decided by it.
func TestARuleThatIsSaidToNeverDecideDoesNot(t *testing.T) {
	globs := rapid.SliceOfN(rapid.SampledFrom([]string{"*", "**", "a_*", "a_b", "a_[bc]", "b_*", "{a_b,b_a}", "a_b*", "?_b", "resources:x:/a/**", "resources:x:/a/b"}), 1, 2)
	verbs := rapid.SampledFrom([]rules.Verb{rules.Allow, rules.Confirm, rules.Deny})
	rapid.Check(t, func(t *rapid.T) {
		var list []rules.Rule
		for i := range rapid.IntRange(2, 4).Draw(t, "rules") {
			r := rules.Rule{Verb: verbs.Draw(t, "verb"), Names: globs.Draw(t, "globs"), Line: i + 1}
			if rapid.Bool().Draw(t, "with effects") {
				r.Effects = []tool.Effects{rapid.SampledFrom([]tool.Effects{tool.ReadOnly, tool.Destructive}).Draw(t, "effects")}
			}
			if rapid.Bool().Draw(t, "with principals") {
				r.Principals = []string{rapid.SampledFrom([]string{"*", "ada", "anonymous"}).Draw(t, "principal")}
			}
			list = append(list, r)
		}
		p, err := rules.New(list, rules.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		silent := map[int]string{}
		for _, r := range rules.Review(list, rules.Known{Adapters: []string{"a"}, Open: map[string]string{"a": ""}}) {
			silent[list[r.Rule].Line] = r.Text
		}
		for _, name := range []string{"a_b", "a_c", "a_bc", "b_a", "x", "resources:x:/a/b", "resources:x:/a/%62", "resources:x:/a/b/c", "resources:x:/c/../a/b", "prompts:a_b"} {
			for _, e := range []tool.Effects{tool.ReadOnly, tool.Destructive} {
				for _, who := range []tool.Principal{{}, {Kind: tool.Named, Subject: "ada"}} {
					v, err := p.Judge(t.Context(), &tool.Case{Call: &tool.Call{Principal: who}, Spec: &tool.Spec{Name: name, Effects: e}})
					if err != nil {
						t.Fatal(err)
					}
					if text, ok := silent[v.Line]; ok {
						t.Fatalf("%s decides about %s: %s", fmt.Sprint(list[v.Line-1]), name, text)
					}
				}
			}
		}
	})
}
