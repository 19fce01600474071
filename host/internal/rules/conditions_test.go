// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestARuleIsAboutWhatAllOfItsConditionsSay(t *testing.T) {
	pay := tool.Spec{Name: "shop_pay", Adapter: "shop", Effects: tool.Additive, Tags: []string{"money", "eu/vat"}}
	unset := tool.Spec{Name: "shop_wipe", Adapter: "shop-eu"}
	for name, c := range map[string]struct {
		rule rules.Rule
		spec tool.Spec
		want bool
	}{
		"its adapter":                   {rules.Rule{Adapters: []string{"shop"}}, pay, true},
		"a glob of adapters":            {rules.Rule{Adapters: []string{"x", "sh*"}}, pay, true},
		"another adapter":               {rules.Rule{Adapters: []string{"shop-*"}}, pay, false},
		"not by the prefix":             {rules.Rule{Adapters: []string{"shop_"}}, pay, false},
		"its effects":                   {rules.Rule{Effects: []tool.Effects{tool.ReadOnly, tool.Additive}}, pay, true},
		"other effects":                 {rules.Rule{Effects: []tool.Effects{tool.Destructive}}, pay, false},
		"unset effects are destructive": {rules.Rule{Effects: []tool.Effects{tool.Destructive}}, unset, true},
		"one of its tags":               {rules.Rule{Tags: []string{"x", "money"}}, pay, true},
		"a star crosses slashes":        {rules.Rule{Tags: []string{"eu*"}}, pay, true},
		"a tag that it has not":         {rules.Rule{Tags: []string{"mon"}}, pay, false},
		"a tool without tags":           {rules.Rule{Tags: []string{"*"}}, unset, false},
		"its caller":                    {rules.Rule{Principals: []string{"ada"}}, pay, true},
		"another caller":                {rules.Rule{Principals: []string{"bob"}}, pay, false},
		"a condition":                   {rules.Rule{When: `args.n == 1`}, pay, true},
		"a condition that is not true":  {rules.Rule{When: `args.n == 2`}, pay, false},
		"all of them": {rules.Rule{
			Adapters: []string{"shop"}, Effects: []tool.Effects{tool.Additive}, Tags: []string{"money"}, Principals: []string{"desk"}, When: "true",
		}, pay, true},
		"all but one": {rules.Rule{
			Adapters: []string{"shop"}, Effects: []tool.Effects{tool.Additive}, Tags: []string{"money"}, Principals: []string{"desk"}, When: "false",
		}, pay, false},
		"another name": {rules.Rule{Names: []string{"orders_*"}, Adapters: []string{"shop"}}, pay, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.rule.Names == nil {
				c.rule.Names = []string{"shop_*"}
			}
			c.rule.Line = 3
			for _, verb := range []rules.Verb{rules.Allow, rules.Deny} {
				other := rules.Deny
				if verb == rules.Deny {
					other = rules.Allow
				}
				c.rule.Verb = verb
				p, err := rules.New([]rules.Rule{c.rule, {Verb: other, Names: []string{"*"}, Line: 9}}, rules.Defaults{})
				if err != nil {
					t.Fatal(err)
				}
				call := &tool.Case{Call: &tool.Call{Principal: ada(t)}, Spec: &c.spec, Args: parsed(t, `{"n":1}`)}
				got, why := verbOf(t, p, call)
				if (got == verb) != c.want || strings.HasPrefix(why, "rule on line 3") != c.want {
					t.Errorf("%s, %s", got, why)
				}
				v, err := p.Judge(t.Context(), call)
				if line := map[bool]int{true: 3, false: 9}[c.want]; err != nil || v.Line != line {
					t.Errorf("line %d, want %d, %v", v.Line, line, err)
				}
				if c.rule.When == "" && p.Visible(ada(t), &c.spec) != (got == rules.Allow) {
					t.Errorf("%s, and visible is otherwise", got)
				}
			}
		})
	}
}

func TestADenialSaysToTheOperatorWhatWouldAllowIt(t *testing.T) {
	pay := tool.Spec{Name: "shop_pay", Adapter: "shop", Declared: "pay", Effects: tool.Destructive, Tags: []string{"money"}}
	for name, c := range map[string]struct {
		list []rules.Rule
		d    rules.Defaults
		want string
	}{
		"a rule that stands too low": {
			[]rules.Rule{{Verb: rules.Deny, Names: []string{"shop_*"}, Line: 4}, {Verb: rules.Allow, Names: []string{"shop_pay"}, Line: 9}},
			rules.Defaults{},
			"rule on line 4: deny shop_*; line 9 would allow it if it stood above line 4",
		},
		"a rule for other callers": {
			[]rules.Rule{
				{Verb: rules.Allow, Names: []string{"shop_*"}, Principals: []string{"bob", "cy"}, Line: 2},
				{Verb: rules.Deny, Names: []string{"*"}, Line: 4},
			},
			rules.Defaults{},
			"rule on line 4: deny *; line 2 would allow it for bob, cy",
		},
		"a condition that is not true": {
			[]rules.Rule{
				{Verb: rules.Confirm, Names: []string{"shop_*"}, When: "args.n < 5", Adapters: []string{"shop"}, Line: 2},
				{Verb: rules.Deny, Names: []string{"*"}, Line: 4},
			},
			rules.Defaults{},
			"rule on line 4: deny *; line 2 would confirm it of adapters shop when args.n < 5",
		},
		"other effects in a rule": {
			[]rules.Rule{{Verb: rules.Deny, Names: []string{"shop_*"}, Effects: []tool.Effects{tool.Destructive}, Line: 4}},
			rules.Defaults{},
			"rule on line 4: deny shop_* with effects destructive; with effects read_only (adapters.shop.tools.pay.effects) it would not be denied",
		},
		"other effects in the defaults": {
			nil,
			rules.Defaults{Destructive: rules.Deny},
			"no rule matches, and the default for destructive is deny; with effects read_only (adapters.shop.tools.pay.effects) it would not be denied",
		},
		"nothing that is there": {
			[]rules.Rule{{Verb: rules.Deny, Names: []string{"shop_*"}, Line: 4}},
			rules.Defaults{},
			"rule on line 4: deny shop_*; a rule above line 4 that allows shop_pay would let it run",
		},
		"nor in the defaults": {
			nil,
			rules.Defaults{ReadOnly: rules.Deny, Additive: rules.Deny, Destructive: rules.Deny},
			"no rule matches, and the default for destructive is deny; a rule that allows shop_pay would let it run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := rules.New(c.list, c.d)
			if err != nil {
				t.Fatal(err)
			}
			v, err := p.Judge(t.Context(), &tool.Case{Call: &tool.Call{Principal: ada(t)}, Spec: &pay, Args: parsed(t, `{"n":9}`)})
			if err != nil {
				t.Fatal(err)
			}
			if v.Reason != c.want {
				t.Errorf("\n%s, want\n%s", v.Reason, c.want)
			}
			if v.Err == nil || v.Err.Detail != v.Reason || v.Err.Text != "shop_pay is not allowed here" {
				t.Errorf("the caller is told %+v", v.Err)
			}
		})
	}
}
